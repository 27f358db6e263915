// The driver `node-claims`: passes a claim to the inventory of its node, and says what it answered. It must not decide anything.
import { isJournalAway, type Clock } from '../../journal/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../../operations/index.ts';
import { InventoryUnavailable, type ClaimOutcome, type Inventory } from '../drivers/inventory.ts';
import type { InventoryName } from '../model.ts';
import { toActionOutcome, type ClaimOrder, type ClaimResult } from './claim-order.ts';

export interface ClaimsDriverOptions {
  readonly clock: Clock;
  readonly inventories: ReadonlyMap<InventoryName, Inventory>;
}

export class ClaimsDriver implements Driver {
  readonly #options: ClaimsDriverOptions;

  constructor(options: ClaimsDriverOptions) {
    this.#options = options;
  }

  async carryOut(action: Action, { signal }: ActionFence): Promise<ActionOutcome> {
    const order = action.args as unknown as ClaimOrder;
    const inventory = this.#options.inventories.get(order.inventory);
    if (inventory === undefined) {
      return unanswered({ code: 'inventory-not-configured', inventory: order.inventory });
    }
    const late = new AbortController();
    const { clock } = this.#options;
    const abortCall = (): void => late.abort(signal.reason);
    signal.addEventListener('abort', abortCall, { once: true });
    if (signal.aborted) abortCall();
    const deadline = clock
      .sleep(Math.max(0, order.deadlineAtMs - clock.nowMs()), late.signal)
      .then((): ClaimOutcome => {
        late.abort('late');
        return { kind: 'failed', reason: { code: 'inventory-silent', inventory: order.inventory } };
      });
    try {
      return toActionOutcome(resultOf(order, await Promise.race([ask(inventory, order, late.signal), deadline])));
    } finally {
      signal.removeEventListener('abort', abortCall);
      late.abort('over');
    }
  }
}

async function ask(inventory: Inventory, order: ClaimOrder, signal: AbortSignal): Promise<ClaimOutcome> {
  const { op, node, nodeEpoch, instance, traits } = order;
  const fence = { node, nodeEpoch, instance };
  try {
    // What the journal alone decides needs no claim outside.
    if ((await inventory.claims({ signal })) === 'inline') return { kind: 'already' };
    return await (op === 'claim'
      ? inventory.claim({ ...fence, traits }, { signal })
      : inventory.unclaim(fence, { signal }));
  } catch (error) {
    if (!(error instanceof InventoryUnavailable) && !isJournalAway(error)) throw error;
    return { kind: 'failed', reason: { code: 'inventory-unreachable', inventory: order.inventory, node } };
  }
}

/** One that has a later claim, or another instance, has none of ours. */
function resultOf({ op }: ClaimOrder, outcome: ClaimOutcome): ClaimResult {
  switch (outcome.kind) {
    case 'applied':
    case 'already':
      return { kind: op === 'claim' ? 'claimed' : 'free' };
    case 'stale':
    case 'lost':
      return { kind: 'free' };
    case 'failed':
      return { ...outcome, kind: 'unanswered' };
  }
}

function unanswered(reason: Extract<ClaimResult, { kind: 'unanswered' }>['reason']): ActionOutcome {
  return toActionOutcome({ kind: 'unanswered', reason });
}
