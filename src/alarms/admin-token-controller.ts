// Looks from time to time whether there is a valid admin token: a token ends by the clock, and no commit says so.
import { accept, LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../journal/index.ts';
import { planAdminAlarm } from './no-admin-token.ts';

export interface AdminTokenOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly intervalMs?: number;
}

const INTERVAL_MS = 5000;

export class AdminTokenController {
  readonly #journal: Journal;
  readonly #loop: LeaseHolderLoop;

  constructor(options: AdminTokenOptions) {
    this.#journal = options.journal;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'admin-token',
      reconcile: (pass) => this.#record(pass),
      intervalMs: options.intervalMs ?? INTERVAL_MS,
      isSilent: true,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #record({ nowMs }: LeasePass): Promise<void> {
    const journal = this.#journal;
    if (planAdminAlarm(journal.fleet, nowMs).length === 0) return;
    await journal.submit({
      by: 'admin-token',
      why: 'whether there is a valid admin token',
      decide: (fleet) => accept(planAdminAlarm(fleet, nowMs), undefined),
    });
  }
}
