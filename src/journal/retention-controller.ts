// Deletes expired documents and history at the lease holder, once a minute, in slices small enough not to delay requests.
import { mark, valueOf } from '../fleet/index.ts';
import type { Journal } from './journal.ts';
import type { Clock } from './ports.ts';
import { NotHolder } from './request.ts';
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
import { StoreUnavailable } from './store.ts';

export interface RetentionOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: {
    info(facts: object, message: string): void;
    warn(facts: object, message: string): void;
  };
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

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs = INTERVAL_MS } = this.#options;
    while (!signal.aborted) {
      // Not at once: a server that starts has better things to do.
      await clock.sleep(intervalMs, signal);
      if (!signal.aborted) await this.sweep(signal);
    }
  }

  /** Deletes everything that has expired. What an interrupted sweep leaves is found by the next one. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { journal, log, clock, trustedNowMs = () => clock.nowMs() } = this.#options;
    // Once for the whole sweep: a clock that jumps meanwhile is noticed by the next one.
    const nowMs = trustedNowMs();
    if (nowMs === undefined) {
      mark('retention-paused');
      return;
    }
    try {
      const documents = await this.#deleteExpiredDocuments(nowMs, signal);
      const commits = await this.#compact(nowMs, signal);
      if (documents + commits > 0) log.info({ documents, commits }, 'forgot what had expired');
    } catch (error) {
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      log.warn({ code: error.code, revision: journal.fleet.revision }, 'retention goes on at the next look');
    }
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
