// A journal that notes what it writes: every row of it is the script for the bare store, which writes it once more in the same transactions.
import type { Journal, Position, Store, StoredCommit } from '../../src/journal/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { countingGroups, leadingJournal } from '../journal/load.ts';
import type { BenchScope } from '../scope.ts';

/** The commits of one transaction. */
export type Commits = readonly StoredCommit[];

/** A journal with every index and projection of a server, and what it wrote. */
export interface Recorded {
  readonly journal: Journal;
  /** The transactions since the last call of this, read back from the store: keeping them would weigh on the run. */
  takeWritten(): Promise<readonly Commits[]>;
}

export async function recordedJournal(scope: BenchScope, store: Store): Promise<Recorded> {
  const sizes: number[] = [];
  const journal = await leadingJournal(scope, countingGroups(store, sizes), PROGRAM.newRegistry());
  let position: Position = await store.snapshot(() => undefined);
  const readOn = async (limit: number): Promise<Commits> => {
    const commits: StoredCommit[] = [];
    while (commits.length < limit) {
      const answer = await store.read(position, limit - commits.length);
      const last = answer.kind === 'commits' ? answer.commits.at(-1) : undefined;
      if (answer.kind !== 'commits' || last === undefined) throw new Error('the store lost commits');
      position = { revision: last.revision, commitId: last.id };
      commits.push(...answer.commits);
    }
    return commits;
  };
  const takeWritten = async (): Promise<readonly Commits[]> => {
    const written: Commits[] = [];
    for (const size of sizes.splice(0)) if (size > 0) written.push(await readOn(size));
    return written;
  };
  return { journal, takeWritten };
}

/** Makes ready what a run wrote; the answer writes it. */
export type BareStore = (written: readonly Commits[]) => () => Promise<void>;

/** How long the bare store takes to write it, in milliseconds, and how many commits it was. */
export async function replay(
  bare: BareStore,
  written: readonly Commits[],
): Promise<{ readonly ms: number; readonly commits: number }> {
  const write = bare(written);
  const startedMs = performance.now();
  await write();
  const ms = performance.now() - startedMs;
  return { ms, commits: written.reduce((sum, commits) => sum + commits.length, 0) };
}
