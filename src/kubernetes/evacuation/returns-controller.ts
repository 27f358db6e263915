// Gives workers back that were drained because their hosts left, at the lease holder. It keeps nothing: each pass looks at all that are marked.
import type { AppliedChange } from '../../fleet/index.ts';
import { HOST } from '../../hosts/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import { accept, LeaseHolderLoop, type Clock, type Journal, type Log } from '../../journal/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { WORKER, WORKERS_BY_INSTANCE } from '../model.ts';
import { listReturnable, RETURNER, returnMoved } from './returns.ts';

export interface ReturnsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Only bounds a sleep that changes end. */
const LOOK_MS = 5000;

export class ReturnsController {
  readonly #options: ReturnsOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: ReturnsOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'worker-returns',
      reconcile: () => this.reconcile(),
      intervalMs: LOOK_MS,
      subscribe: () => options.journal.onCommit(({ applied }) => this.#wake(applied)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    const { journal, clock } = this.#options;
    if (listReturnable(journal.fleet).length === 0) return;
    const nowMs = clock.nowMs();
    await journal.submit({ by: RETURNER, decide: (fleet) => accept(returnMoved(fleet, nowMs), null) });
  }

  #wake(applied: readonly AppliedChange[]): void {
    const { fleet } = this.#options.journal;
    if (fleet.count(WORKER) > 0 && applied.some((change) => this.#concerns(change))) this.#loop.wake();
  }

  #concerns({ kind, before, after }: AppliedChange): boolean {
    const { fleet } = this.#options.journal;
    if (kind === INSTANCE.name) return fleet.countOf(WORKERS_BY_INSTANCE, (after ?? before)?.id ?? '') > 0;
    return kind === WORKER.name || kind === HOST.name || kind === OPERATION.name;
  }
}
