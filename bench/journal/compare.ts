// Journal commits against the bare store. In each round the journal goes first; the bare store then writes as many commits,
// cut into transactions exactly as the journal cut them.
import type { Store } from '../../src/journal/index.ts';
import { atLeast, type Figure } from '../benchmark.ts';
import { runPaired } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { countingGroups, fill, leadingJournal, runLoad } from './load.ts';

/** Writes one transaction with so many commits. */
export type BareJournalStore = (commits: number) => Promise<void>;

export interface JournalComparison {
  readonly name: string;
  readonly callers: number;
  readonly store: Store;
  readonly bare: BareJournalStore;
  readonly bareName: string;
}

const GOAL = 0.7;
const ROUNDS = 11;
const ROUND_MS = 1000;
/** Both sides of every round, the one that warms up, and what it takes to set up and tear down. */
export const SECONDS = Math.ceil(((ROUNDS + 1) * 2 * ROUND_MS) / 1000) + 2;

export async function compare(scope: BenchScope, comparison: JournalComparison): Promise<Figure[]> {
  const { name, callers, store, bare, bareName } = comparison;
  await fill(store);
  const sizes: number[] = [];
  const journal = await leadingJournal(scope, countingGroups(store, sizes));
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => {
    sizes.length = 0;
    const rate = await runLoad(journal, { callers, forMs: ROUND_MS });
    return [rate, await replay(bare, sizes)];
  });
  const peer = `${bareName}: ${Math.round(peers)} commits/s`;
  return [{ name, value: ours, unit: 'commits/s', peer, ...atLeast(GOAL, ratio) }];
}

async function replay(bare: BareJournalStore, sizes: readonly number[]): Promise<number> {
  const startedMs = performance.now();
  for (const commits of sizes) await bare(commits);
  const commits = sizes.reduce((sum, size) => sum + size, 0);
  return (commits * 1000) / (performance.now() - startedMs);
}
