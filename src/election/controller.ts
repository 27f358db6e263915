// Reconciles services at the lease holder: elects, hands over and withdraws, in slices that are decided inside their commits. It keeps nothing
// across restarts: events make it run sooner; a periodic scan finds what no event reported, such as a host whose BFD went down.
import { idOf, type AppliedChange } from '../fleet/index.ts';
import { NotHolder, StoreUnavailable, type Clock, type Ids, type Journal } from '../journal/index.ts';
import { OPERATION, type Log } from '../operations/index.ts';
import { affectedServices, servicesInvolvingHost } from './affected-services.ts';
import { reconcileServices, type ReconcileSummary } from './decide.ts';
import { memoizePerHost, type MaybePartitioned, type FailureDetector } from './health.ts';
import type { ServiceId } from './model.ts';
import { allServices } from './desired-services.ts';

export interface ElectionOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Whether any peer still reports BFD to a silent host up. */
  readonly hasBfdUp: FailureDetector['hasBfdUp'];
  /** Whether most of a host's BFD peers report it down. */
  readonly isBfdDownByMajority: NonNullable<FailureDetector['isBfdDownByMajority']>;
  /** Whether peers report a host's BFD down, and none reports it up. */
  readonly isBfdDownUnanimously?: FailureDetector['isBfdDownUnanimously'];
  /** Whether a site's hosts are silent together. */
  readonly maybePartitioned: MaybePartitioned;
  readonly scanMs?: number;
}

const SCAN_MS = 5000;
/** Services that wait for the handover budget are reconciled again after this time. */
const POSTPONED_MS = 1000;
/** Services per commit: small enough that nothing else waits for long. */
const SERVICES_PER_COMMIT = 500;
/** Far longer than hosts need; after it another handover begins if the cause persists. */
const HANDOVER_DEADLINE_MS = 3_600_000;
const BY = 'election';

export class ElectionController {
  readonly #options: ElectionOptions;
  readonly #scanMs: number;
  /** Services that are due. Lost in a crash, found again by the scan. */
  readonly #woken = new Set<ServiceId>();
  #scanAtMs = 0;
  #sleep = new AbortController();

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#scanMs = options.scanMs ?? SCAN_MS;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { journal, clock } = this.#options;
    const stopListening = journal.onCommit((_commit, applied) => this.wake(applied));
    const stop = (): void => this.#sleep.abort();
    signal.addEventListener('abort', stop, { once: true });
    while (!signal.aborted) {
      await this.reconcile();
      if (signal.aborted) break;
      if (this.#woken.size === 0) await clock.sleep(Math.max(0, this.#scanAtMs - clock.nowMs()), this.#sleep.signal);
      if (this.#sleep.signal.aborted) this.#sleep = new AbortController();
    }
    signal.removeEventListener('abort', stop);
    stopListening();
  }

  /** A commit: the services that it may affect are reconciled next. */
  wake(applied: readonly AppliedChange[]): void {
    const { fleet } = this.#options.journal;
    for (const change of applied) {
      const affected = affectedServices(fleet, change);
      if (affected === 'all') this.#scanAtMs = 0;
      else for (const id of affected) this.#woken.add(id);
      if (affected.length > 0 && !this.#sleep.signal.aborted) this.#sleep.abort('woken');
    }
  }

  /** A BFD report changed: do not wait for the next scan. */
  wakeForHost(host: string): void {
    for (const id of servicesInvolvingHost(this.#options.journal.fleet, host)) this.#woken.add(id);
    if (this.#woken.size > 0) this.#sleep.abort('woken');
  }

  /** Reconciles everything that is due once. */
  async reconcile(): Promise<void> {
    const { journal, clock } = this.#options;
    const nowMs = clock.nowMs();
    const due = this.#takeDue(nowMs);
    if (journal.fence === undefined) return;
    const hasBfdUp = memoizePerHost(this.#options.hasBfdUp);
    const isBfdDownByMajority = memoizePerHost(this.#options.isBfdDownByMajority);
    const isBfdDownUnanimously = memoizePerHost(this.#options.isBfdDownUnanimously ?? never);
    for (let at = 0; at < due.length; at += SERVICES_PER_COMMIT) {
      await this.#reconcileSlice(due.slice(at, at + SERVICES_PER_COMMIT), {
        hasBfdUp,
        isBfdDownByMajority,
        isBfdDownUnanimously,
      });
    }
  }

  /** In the order of ids, so that slices choose the same as a single pass would. */
  #takeDue(nowMs: number): ServiceId[] {
    if (nowMs >= this.#scanAtMs) {
      this.#scanAtMs = nowMs + this.#scanMs;
      this.#woken.clear();
      return allServices(this.#options.journal.fleet);
    }
    const due = [...this.#woken].sort();
    this.#woken.clear();
    return due;
  }

  async #reconcileSlice(
    services: readonly ServiceId[],
    detector: Pick<FailureDetector, 'hasBfdUp' | 'isBfdDownByMajority' | 'isBfdDownUnanimously'>,
  ): Promise<void> {
    const { journal, clock, ids, maybePartitioned } = this.#options;
    const nowMs = clock.nowMs();
    const operation = idOf(OPERATION, ids.next('op'));
    const command = {
      services,
      ...detector,
      maybePartitioned,
      operation,
      by: BY,
      nowMs,
      deadlineMs: HANDOVER_DEADLINE_MS,
    };
    // Most passes change nothing: those cost the decider nothing.
    const planned = reconcileServices(journal.fleet, command);
    if (planned.kind === 'refuse') return;
    if (planned.changes.length === 0) return this.#postpone(planned.answer.postponed, nowMs);
    try {
      const outcome = await journal.submit({ by: BY, decide: (fleet) => reconcileServices(fleet, command) });
      if (outcome.kind === 'accepted') this.#logOutcome(outcome.answer, nowMs);
    } catch (error) {
      // The next pass, here or at the next holder, finds the same.
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      this.#options.log.warn({ code: error.code }, 'elections not recorded');
      this.#postpone(services, nowMs);
    }
  }

  #logOutcome({ elected, withdrawn, begun, postponed }: ReconcileSummary, nowMs: number): void {
    const facts = { elected: elected.length, withdrawn: withdrawn.length, handedOver: begun.length };
    this.#options.log.info(facts, 'services reconciled');
    this.#postpone(postponed, nowMs);
  }

  #postpone(services: readonly ServiceId[], nowMs: number): void {
    // A scan that comes sooner finds them again.
    if (services.length > 0) this.#scanAtMs = Math.min(this.#scanAtMs, nowMs + POSTPONED_MS);
  }
}

const never = (): boolean => false;
