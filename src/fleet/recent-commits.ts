// The last commits that a fleet applied, so that cached results can find what has changed since. A commit is identified by its
// object, never by its revision: what is decided again after a store failed has the revision of what was dropped.
import type { FleetReader } from './reader.ts';
import type { AppliedChange } from './registry.ts';

export type CommitChanges = readonly AppliedChange[];

/** More than a busy fleet sees in a second. What is kept holds on to documents as they were, so it is not kept for longer. */
export const CHANGES_KEPT_MAX = 10_000;

export class RecentCommits {
  /** Stands for everything before the first commit. */
  #commits: CommitChanges[] = [[]];
  #changes = 0;

  add(commit: CommitChanges): void {
    this.#commits.push(commit);
    this.#changes += commit.length;
    if (this.#changes > 2 * CHANGES_KEPT_MAX) this.#forget();
  }

  /** The oldest go, about half of all, so that each is moved once. */
  #forget(): void {
    let [at, kept] = [this.#commits.length, 0];
    while (at > 0 && kept < CHANGES_KEPT_MAX) kept += this.#commits[--at]?.length ?? 0;
    this.#commits = this.#commits.slice(at);
    this.#changes = kept;
  }

  *newestFirst(): Iterable<CommitChanges> {
    for (let at = this.#commits.length - 1; at >= 0; at -= 1) yield this.#commits[at] as CommitChanges;
  }
}

interface RecentCommitsReader extends FleetReader {
  recentCommits(): Iterable<CommitChanges>;
}

/** What a fleet shows now, for `changesSince`. */
export function newestCommit(fleet: FleetReader): CommitChanges | undefined {
  for (const commit of (fleet as RecentCommitsReader).recentCommits()) return commit;
  return undefined;
}

/** The changes after a commit; undefined when the commit was dropped or is too old. Costs O(changes). */
export function changesSince(
  fleet: FleetReader,
  since: CommitChanges | undefined,
): readonly AppliedChange[] | undefined {
  const changes: AppliedChange[] = [];
  for (const commit of (fleet as RecentCommitsReader).recentCommits()) {
    if (commit === since) return changes;
    changes.push(...commit);
  }
  return undefined;
}
