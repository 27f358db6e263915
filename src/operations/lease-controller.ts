// Holds the deciding lease while it can: 4 s, renewed every second, on the store's clock. A server that cannot renew in
// time steps down by itself; the store and the agents refuse its old epoch in any case. A holder whose session with the
// store has ended is succeeded at once.
import { mark } from '../fleet/index.ts';
import {
  StoreUnavailable,
  type Clock,
  type Journal,
  type Lease,
  type LeaseAnswer,
  type Log,
} from '../journal/index.ts';
import { OutageLog } from './outage-log.ts';

export const DECIDING_LEASE = 'fleet';
const LEASE_TTL_MS = 4_000;
const LEASE_RENEW_MS = 1_000;
/** Hints of the store that bring nothing are not followed more often than this. */
const HINTS_APART_MS = 100;

export interface LeaseOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** Who this server is; unique per start of the process. */
  readonly holder: string;
  /** Where other servers reach it; read whenever it requests the lease. */
  readonly url: () => string;
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

  /** Who decides, as far as this server knows: itself or another. Undefined when no holder is known. */
  holder(): Lease | undefined {
    const { clock, journal } = this.#options;
    if (this.#seen === undefined || this.#seen.untilMs <= clock.nowMs()) return undefined;
    if (this.#seen.lease.holder === this.#options.holder && journal.fence === undefined) return undefined;
    return this.#seen.lease;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = this.#options.clock.nowMs();
      await this.#acquireOrRenew();
      await this.#pause(startedMs, signal);
    }
    await this.#release();
  }

  /** Until the next renewal, or until the store says that the lease may be free or that the session has ended. */
  async #pause(startedMs: number, signal: AbortSignal): Promise<void> {
    const { clock, journal } = this.#options;
    const over = new AbortController();
    const stop = (): void => over.abort('over');
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const vacancy = journal.store.awaitVacancy({ name: DECIDING_LEASE, signal: over.signal });
    await Promise.race([clock.sleep(this.#pauseMs(), over.signal), vacancy]);
    signal.removeEventListener('abort', stop);
    stop();
    const apartMs = startedMs + HINTS_APART_MS - clock.nowMs();
    if (apartMs > 0) await clock.sleep(apartMs, signal);
  }

  /** Until the next renewal; a lease that runs out sooner is released on time. */
  #pauseMs(): number {
    if (this.#held === undefined) return this.#renewMs;
    return Math.min(this.#renewMs, Math.max(0, this.#held.untilMs - this.#options.clock.nowMs()));
  }

  async #acquireOrRenew(): Promise<void> {
    const { journal, clock } = this.#options;
    const startedMs = clock.nowMs();
    if (this.#held !== undefined && (journal.fence === undefined || startedMs >= this.#held.untilMs))
      this.#lose('ran out');
    const answer = await this.#requestLease();
    if (answer === undefined) return;
    if (answer.kind === 'held' && this.#held === undefined) this.#noteSeizure(answer.lease, startedMs);
    if (answer.lease !== undefined) {
      this.#seen = { lease: answer.lease, untilMs: startedMs + answer.lease.expiresInMs };
    }
    if (answer.kind === 'held') await this.#hold(answer.lease.epoch, startedMs + this.#ttlMs);
    else if (this.#held !== undefined) this.#lose('was refused');
  }

  /** Requests the lease, or renews it. Undefined when the store does not answer while the lease is still good. */
  async #requestLease(): Promise<LeaseAnswer | undefined> {
    const { journal, clock, holder, url } = this.#options;
    const request = { name: DECIDING_LEASE, holder, url: url(), ttlMs: this.#ttlMs };
    const held = this.#held;
    const renewal =
      held === undefined
        ? journal.store.acquireLease(request)
        : journal.store.renewLease({ ...request, epoch: held.epoch });
    const patience = new AbortController();
    const patienceMs = held === undefined ? this.#ttlMs : Math.max(0, held.untilMs - clock.nowMs());
    try {
      // After the event loop was busy the timer may come first although the answer has arrived: one turn reads it.
      const patient = clock.sleep(patienceMs, patience.signal).then(() => clock.turn());
      const answer = await Promise.race([renewal, patient]);
      if (answer !== undefined) {
        this.#outage.logRecovery(clock.nowMs());
        return answer;
      }
      renewal.catch(() => undefined);
      this.#outage.logOutage(clock.nowMs());
      if (held !== undefined) this.#lose('could not be renewed in time');
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      this.#outage.logOutage(clock.nowMs(), error);
      if (held !== undefined && clock.nowMs() >= held.untilMs) this.#lose('could not be renewed in time');
    } finally {
      patience.abort();
    }
    return undefined;
  }

  /** The lease of another server was still good when this one took it. */
  #noteSeizure({ epoch }: Lease, nowMs: number): void {
    const { holder, log } = this.#options;
    const seen = this.#seen;
    if (seen === undefined || seen.untilMs <= nowMs || seen.lease.holder === holder) return;
    mark('lease-seized');
    log.info(
      { epoch, from: seen.lease.url },
      'the lease is taken over before its time is up: its holder gave it back, or its session with the store has ended',
    );
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

  /** A clean stop releases the lease, so that the next holder need not wait for it to expire. */
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
