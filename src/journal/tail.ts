// The newest commits, kept in memory so that watchers which keep up never read the store.
import type { Commit } from './request.ts';

/** A watcher that falls further behind than this reads the store: 4,096 commits of one document each are a few MiB. */
const TAIL_COMMITS_MAX = 4096;

export class Tail {
  #commits: Commit[] = [];
  #waiters: (() => void)[] = [];
  #generation = 0;

  /** Changes when the fleet was loaded anew: what comes then does not follow what came before. */
  get generation(): number {
    return this.#generation;
  }

  add(commit: Commit): void {
    this.#commits.push(commit);
    if (this.#commits.length >= 2 * TAIL_COMMITS_MAX) this.#commits = this.#commits.slice(-TAIL_COMMITS_MAX);
  }

  /** Wakes all that wait for something newer. */
  wake(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }

  /** What was kept is of another journal. */
  clear(): void {
    this.#commits = [];
    this.#generation += 1;
    this.wake();
  }

  /** Everything that is kept, oldest first. */
  commits(): readonly Commit[] {
    return this.#commits;
  }

  /** The commits after a revision; undefined when the tail does not reach back that far. */
  commitsAfter(revision: number, limit: number): readonly Commit[] | undefined {
    const first = this.#commits[0]?.revision;
    if (first === undefined || revision + 1 < first) return undefined;
    const start = revision + 1 - first;
    return this.#commits.slice(start, start + limit);
  }

  /** Resolves at the next commit, or when `signal` is aborted. */
  waitForNext(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) {
        resolve();
        return;
      }
      const finish = (): void => {
        signal.removeEventListener('abort', abandon);
        resolve();
      };
      const abandon = (): void => {
        this.#waiters = this.#waiters.filter((waiter) => waiter !== finish);
        resolve();
      };
      signal.addEventListener('abort', abandon, { once: true });
      this.#waiters.push(finish);
    });
  }
}
