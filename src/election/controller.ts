// Reconciles services at the lease holder: elects, hands over and withdraws, in slices that are decided inside their commits. It keeps nothing
// across restarts: events make it run sooner; a periodic scan finds what no event reported, such as a host whose BFD went down.
import { idOf, type AppliedChange } from '../fleet/index.ts';
import {
  isJournalAway,
  LeaseHolderLoop,
  type Clock,
  type Ids,
  type Journal,
  type LeasePass,
  type Log,
} from '../journal/index.ts';
import { OPERATION } from '../operations/index.ts';
import { findAffectedServices, servicesInvolvingHost } from './affected-services.ts';
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
  readonly #loop: LeaseHolderLoop;
  /** What may have to change. Lost in a crash, found again by the scan. */
  readonly #woken = new Set<ServiceId>();
  #scanAtMs = 0;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#scanMs = options.scanMs ?? SCAN_MS;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'election',
      reconcile: (pass) => this.#reconcileDue(pass),
      intervalMs: () => Math.max(0, this.#scanAtMs - options.clock.nowMs()),
      // What is woken meanwhile is not kept for a term that may never come: a scan finds it.
      runsAsFollower: true,
      subscribe: () => options.journal.onCommit(({ applied }) => this.wake(applied)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  /** A commit: the services that it may affect are reconciled next. */
  wake(applied: readonly AppliedChange[]): void {
    const { fleet } = this.#options.journal;
    for (const change of applied) {
      const affected = findAffectedServices(fleet, change);
      if (affected === 'all') this.#scanAtMs = 0;
      else for (const id of affected) this.#woken.add(id);
      if (affected.length > 0) this.#loop.wake();
    }
  }

  /** A BFD report changed: do not wait for the next scan. */
  wakeForHost(host: string): void {
    for (const id of servicesInvolvingHost(this.#options.journal.fleet, host)) this.#woken.add(id);
    if (this.#woken.size > 0) this.#loop.wake();
  }

  /** Reconciles everything that is due once. */
  async reconcile(): Promise<void> {
    await this.#loop.reconcile();
  }

  async #reconcileDue({ nowMs, fence }: LeasePass): Promise<void> {
    const due = this.#takeDue(nowMs);
    if (fence === undefined) return;
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
      // The next look, here or at the next holder, finds the same.
      if (!isJournalAway(error)) throw error;
      this.#options.log.warn({ code: error.code }, 'elections not recorded');
      this.#postpone(services, nowMs);
    }
  }

  #logOutcome({ elected, withdrawn, started, postponed }: ReconcileSummary, nowMs: number): void {
    const facts = { elected: elected.length, withdrawn: withdrawn.length, handovers: started.length };
    this.#options.log.info(facts, 'services reconciled');
    this.#postpone(postponed, nowMs);
  }

  #postpone(services: readonly ServiceId[], nowMs: number): void {
    // A scan that comes sooner finds them again.
    if (services.length > 0) this.#scanAtMs = Math.min(this.#scanAtMs, nowMs + POSTPONED_MS);
  }
}

const never = (): boolean => false;
