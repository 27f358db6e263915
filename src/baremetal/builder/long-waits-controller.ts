// Raises and clears the alarms of work that has waited for long, at the lease holder.
import { accept, LeaseHolderLoop, type Clock, type Journal, type Log } from '../../journal/index.ts';
import { reconcileLongWaits } from './long-waits.ts';

export interface LongWaitsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

const BY = 'node-work';
const INTERVAL_MS = 30_000;

export class LongWaitsController {
  readonly #journal: Journal;
  readonly #loop: LeaseHolderLoop;

  constructor(options: LongWaitsOptions) {
    this.#journal = options.journal;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'long-waits',
      reconcile: ({ nowMs, fence }) => (fence === undefined ? Promise.resolve() : this.#reconcile(nowMs)),
      intervalMs: INTERVAL_MS,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  async #reconcile(nowMs: number): Promise<void> {
    const journal = this.#journal;
    if (reconcileLongWaits(journal.fleet, nowMs).length === 0) return;
    await journal.submit({
      by: BY,
      why: 'work on nodes has waited for long, or goes on',
      decide: (fleet) => accept(reconcileLongWaits(fleet, nowMs), null),
    });
  }
}
