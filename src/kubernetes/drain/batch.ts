// The victims of one operation together: none is evicted from before all of them are cordoned and none of them is blocked for good, and nothing is removed
// before all of them are drained. Else pods would move from one victim to the next, or be lost with the rest of a batch that cannot leave.
import type { FleetReader } from '../../fleet/index.ts';
import { ITEMS_BY_OPERATION, type Item, type OperationId } from '../../operations/index.ts';

/** In their order. A drain ends with `await-others`, which a removal does not have. */
export const VICTIM_STEPS = [
  'inspect',
  'cordon',
  'check',
  'evict',
  'await-others',
  'detach',
  'delete-node',
  'leave',
  'delete-instance',
  'await-instance',
  'confirm',
] as const;
export type VictimStep = (typeof VICTIM_STEPS)[number];

/** What a victim waits for before some of its steps. */
export interface DrainGate {
  /** Whether all that it waits for are at this step, or beyond it. */
  haveReached(step: VictimStep): boolean;
  /** One that keeps it from this step: it failed before it. */
  findFailedBefore(step: VictimStep): string | undefined;
}

export class WorkerBatch implements DrainGate {
  readonly #items: readonly Item[];

  /** Costs O(victims of the operation). */
  constructor(fleet: FleetReader, operation: OperationId) {
    const items = [...fleet.find(ITEMS_BY_OPERATION, operation)].map(({ doc }) => doc);
    this.#items = items.filter(({ state }) => state !== 'cancelled');
  }

  haveReached(step: VictimStep): boolean {
    return this.#items.every((item) => hasReached(item, step));
  }

  findFailedBefore(step: VictimStep): string | undefined {
    return this.#items.find((item) => item.state === 'failed' && !hasReached(item, step))?.target.id;
  }
}

function hasReached({ state, step }: Item, wanted: VictimStep): boolean {
  // One that is to be tried again begins anew.
  if (state === 'pending') return false;
  return state === 'done' || VICTIM_STEPS.indexOf(step as VictimStep) >= VICTIM_STEPS.indexOf(wanted);
}
