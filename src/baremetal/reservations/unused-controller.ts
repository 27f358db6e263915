// Releases unused reservations, at the lease holder.
import { accept, LeaseHolderLoop, type Clock, type Journal, type Log } from '../../journal/index.ts';
import { RESERVATION } from '../model.ts';
import { beginRelease } from './release.ts';
import { findUnused, isUnused } from './unused.ts';

export interface UnusedReservationsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

const BY = 'reservations';
const INTERVAL_MS = 15_000;
/** A pass that releases more would hold up others. */
const RELEASED_MAX = 200;

export class UnusedReservationsController {
  readonly #options: UnusedReservationsOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: UnusedReservationsOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'unused-reservations',
      reconcile: ({ nowMs, fence }) => (fence === undefined ? Promise.resolve() : this.#releaseUnused(nowMs)),
      intervalMs: INTERVAL_MS,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #releaseUnused(nowMs: number): Promise<void> {
    const { journal, log } = this.#options;
    for (const { id } of findUnused(journal.fleet, { nowMs, limit: RELEASED_MAX })) {
      const outcome = await journal.submit({
        by: BY,
        why: `nothing was deployed to the node of ${id}`,
        decide: (fleet) => {
          const stored = fleet.get(RESERVATION, id);
          if (stored === undefined || !isUnused(fleet, stored, nowMs)) return accept([], false);
          return accept(beginRelease(fleet, stored, { by: BY, nowMs }).changes, true);
        },
      });
      if (outcome.kind === 'accepted' && outcome.answer)
        log.info({ reservation: id }, 'an unused reservation was released');
    }
  }
}
