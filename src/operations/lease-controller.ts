// Holds the deciding lease while it can: 10 s, renewed every 3 s, on the store's clock. A server that cannot renew in
// time steps down by itself; the store and the agents refuse its old epoch in any case.
import { mark } from '../fleet/index.ts';
import { StoreUnavailable, type Clock, type Journal, type Lease, type LeaseAnswer } from '../journal/index.ts';
import type { Log } from './log.ts';
import { OutageLog } from './outage-log.ts';

export const DECIDING_LEASE = 'fleet';
const LEASE_TTL_MS = 10_000;
const LEASE_RENEW_MS = 3_000;

export interface LeaseOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** Who this server is; unique per start of the process. */
  readonly holder: string;
  /** Where other servers reach it. */
  readonly url: string;
  readonly ttlMs?: number;
  readonly renewMs?: number;
}

export class LeaseController {
  readonly #options: LeaseOptions;
  readonly #ttlMs: number;
  readonly #renewMs: number;
  readonly #outage: OutageLog;
  #held: { readonly epoch: number; readonly untilMs: number } | undefined;
  #seen: { readonly lease: Lease; readonly untilMs: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#ttlMs = options.ttlMs ?? LEASE_TTL_MS;
    this.#renewMs = options.renewMs ?? LEASE_RENEW_MS;
    this.#outage = new OutageLog(options.log);
  }

  /** Who decides, as far as this server knows: itself or another. Undefined when nobody is known to. */
  holder(): Lease | undefined {
    const { clock, journal } = this.#options;
    if (this.#seen === undefined || this.#seen.untilMs <= clock.nowMs()) return undefined;
    if (this.#seen.lease.holder === this.#options.holder && journal.fence === undefined) return undefined;
    return this.#seen.lease;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#once();
      await this.#options.clock.sleep(this.#pauseMs(), signal);
    }
    await this.#release();
  }

  /** Until the next renewal; a lease that runs out sooner is given up on time. */
  #pauseMs(): number {
    if (this.#held === undefined) return this.#renewMs;
    return Math.min(this.#renewMs, Math.max(0, this.#held.untilMs - this.#options.clock.nowMs()));
  }

  async #once(): Promise<void> {
    const { journal, clock } = this.#options;
    const startedMs = clock.nowMs();
    if (this.#held !== undefined && (journal.fence === undefined || startedMs >= this.#held.untilMs))
      this.#lose('ran out');
    const answer = await this.#ask();
    if (answer === undefined) return;
    if (answer.lease !== undefined) {
      this.#seen = { lease: answer.lease, untilMs: startedMs + answer.lease.expiresInMs };
    }
    if (answer.kind === 'held') await this.#hold(answer.lease.epoch, startedMs + this.#ttlMs);
    else if (this.#held !== undefined) this.#lose('was refused');
  }

  /** Asks for the lease, or for more time. Undefined when the store does not answer while the lease is still good. */
  async #ask(): Promise<LeaseAnswer | undefined> {
    const { journal, clock, holder, url } = this.#options;
    const request = { name: DECIDING_LEASE, holder, url, ttlMs: this.#ttlMs };
    const held = this.#held;
    const asked =
      held === undefined
        ? journal.store.acquireLease(request)
        : journal.store.renewLease({ ...request, epoch: held.epoch });
    const patience = new AbortController();
    const patienceMs = held === undefined ? this.#ttlMs : Math.max(0, held.untilMs - clock.nowMs());
    try {
      const answer = await Promise.race([asked, clock.sleep(patienceMs, patience.signal)]);
      if (answer !== undefined) {
        this.#outage.back(clock.nowMs());
        return answer;
      }
      asked.catch(() => undefined);
      this.#outage.away(clock.nowMs());
      if (held !== undefined) this.#lose('could not be renewed in time');
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#outage.away(clock.nowMs(), error);
      if (held !== undefined && clock.nowMs() >= held.untilMs) this.#lose('could not be renewed in time');
    } finally {
      patience.abort();
    }
    return undefined;
  }

  async #hold(epoch: number, untilMs: number): Promise<void> {
    const { journal, clock, log } = this.#options;
    const before = this.#held;
    this.#held = { epoch, untilMs };
    if (before?.epoch === epoch) return;
    try {
      await journal.lead({ lease: DECIDING_LEASE, epoch, holder: this.#options.holder });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#lose('its journal could not be read');
      return;
    }
    if (clock.nowMs() >= untilMs) return this.#lose('ran out while the journal was read');
    mark('lease-taken');
    log.info({ epoch }, 'this server decides');
  }

  #lose(how: string): void {
    mark('lease-lost');
    this.#options.log.warn({ epoch: this.#held?.epoch }, `the deciding lease ${how}`);
    this.#held = undefined;
    this.#options.journal.stepDown();
  }

  /** A clean stop hands over at once: nobody has to wait for the lease to run out. */
  async #release(): Promise<void> {
    const { journal } = this.#options;
    const held = this.#held;
    if (held === undefined) return;
    await journal.idle();
    journal.stepDown();
    this.#held = undefined;
    try {
      await journal.store.releaseLease(DECIDING_LEASE, held.epoch);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  }
}
