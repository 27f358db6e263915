// A store that is away is logged once with all there is to know, then with a line now and then, and once when it is back:
// a log that repeats the same stack every three seconds hides what else happens.
import type { Log } from '../journal/index.ts';

const LOG_INTERVAL_MS = 60_000;

export class OutageLog {
  readonly #log: Log;
  #away: { readonly sinceMs: number; readonly loggedMs: number } | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** It did not answer, or with this error. */
  logOutage(nowMs: number, error?: Error): void {
    if (this.#away === undefined) {
      this.#log.warn(error === undefined ? {} : { err: error }, 'the store does not answer for the lease');
      this.#away = { sinceMs: nowMs, loggedMs: nowMs };
      return;
    }
    const { sinceMs, loggedMs } = this.#away;
    if (nowMs - loggedMs < LOG_INTERVAL_MS) return;
    this.#away = { sinceMs, loggedMs: nowMs };
    const facts = { awayMs: nowMs - sinceMs, ...(error !== undefined && { problem: error.message }) };
    this.#log.warn(facts, 'the store still does not answer for the lease');
  }

  logRecovery(nowMs: number): void {
    if (this.#away === undefined) return;
    this.#log.info({ awayMs: nowMs - this.#away.sinceMs }, 'the store answers for the lease again');
    this.#away = undefined;
  }
}
