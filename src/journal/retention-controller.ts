// Deletes expired documents and history at the lease holder, once a minute, in slices small enough not to delay requests.
import { mark, valueOf } from '../fleet/index.ts';
import type { Journal } from './journal.ts';
import { LeaseHolderLoop } from './lease-holder-loop.ts';
import type { Clock, Log } from './ports.ts';
import {
  deleteExpired,
  historyCutoffMs,
  planRetention,
  RETENTION,
  WALK_START,
  type ExpiredDocument,
  type RetentionPlan,
  type WalkPosition,
} from './retention.ts';

export interface RetentionOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly intervalMs?: number;
  /** The time of each sweep; undefined while the clock is not trusted, and then nothing is deleted. Defaults to the clock. */
  readonly trustedNowMs?: () => number | undefined;
}

const INTERVAL_MS = 60_000;
/** Documents scanned between two turns of the event loop: well under a millisecond. */
const WALK_PAGE = 1000;
/** A commit of more would hold up the group it is in. */
const DELETIONS_PER_COMMIT = 100;
/** Commits forgotten in one transaction: it holds the store's write lock meanwhile. */
const COMPACTION_SLICE = 1000;

export class RetentionController {
  readonly #options: RetentionOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: RetentionOptions) {
    this.#options = options;
    const { intervalMs = INTERVAL_MS } = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'retention',
      reconcile: ({ signal }) => this.#forgetExpired(signal),
      intervalMs,
      // A server that starts has better things to do.
      startDelayMs: intervalMs,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async sweep(signal: AbortSignal): Promise<void> {
    await this.#loop.reconcile(signal);
  }

  /** Forgets everything whose time has come. Whatever stops it half-way is found again by the next pass. */
  async #forgetExpired(signal: AbortSignal): Promise<void> {
    const { log, clock, trustedNowMs = () => clock.nowMs() } = this.#options;
    // Once for the whole look: a clock that jumps meanwhile is noticed by the next one.
    const nowMs = trustedNowMs();
    if (nowMs === undefined) {
      mark('retention-paused');
      return;
    }
    const documents = await this.#deleteExpiredDocuments(nowMs, signal);
    const commits = await this.#compact(nowMs, signal);
    if (documents + commits > 0) log.info({ documents, commits }, 'forgot what had expired');
  }

  async #deleteExpiredDocuments(nowMs: number, signal: AbortSignal): Promise<number> {
    const { journal, clock } = this.#options;
    let forgotten = 0;
    let position: WalkPosition | undefined = WALK_START;
    while (position !== undefined && this.#mayContinue(signal)) {
      const plan: RetentionPlan = planRetention(journal.fleet, position, { nowMs, limit: WALK_PAGE });
      for (let at = 0; at < plan.expired.length && this.#mayContinue(signal); at += DELETIONS_PER_COMMIT) {
        forgotten += await this.#deleteExpired(plan.expired.slice(at, at + DELETIONS_PER_COMMIT), nowMs);
      }
      position = plan.next;
      await clock.turn();
    }
    return forgotten;
  }

  async #deleteExpired(expired: readonly ExpiredDocument[], nowMs: number): Promise<number> {
    const outcome = await this.#options.journal.submit({
      by: 'retention',
      why: 'expired',
      decide: (fleet) => deleteExpired(fleet, expired, nowMs),
    });
    return outcome.kind === 'accepted' ? outcome.answer : 0;
  }

  async #compact(nowMs: number, signal: AbortSignal): Promise<number> {
    const { journal, clock } = this.#options;
    const beforeMs = historyCutoffMs(valueOf(journal.fleet, RETENTION), nowMs);
    let forgotten = 0;
    while (this.#mayContinue(signal)) {
      const slice = await journal.store.compact(beforeMs, COMPACTION_SLICE);
      forgotten += slice;
      if (slice < COMPACTION_SLICE) break;
      await clock.turn();
    }
    return forgotten;
  }

  #mayContinue(signal: AbortSignal): boolean {
    return !signal.aborted && this.#options.journal.fence !== undefined;
  }
}
