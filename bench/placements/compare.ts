// Placements against the bare store, and on a large fleet against a small one. In each round the journal goes first; the
// bare store then writes the rows of that round, cut into transactions exactly as the journal cut them.
import { atLeast, below, type Figure } from '../benchmark.ts';
import { runPaired } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { replay, type BareStore, type Recorded } from '../commits/recorded.ts';
import { demandPlaced, runLoad } from './load.ts';

export interface PlacementComparison {
  readonly name: string;
  readonly ours: Recorded;
  readonly bare: BareStore;
  readonly bareName: string;
}

const CALLERS = 256;
const RATIO_GOAL = 0.5;
/** The cost of a placement with a hundred times as many hosts. */
const GROWTH_GOAL = 2;
const ROUNDS = 9;
const ROUND_MS = 1000;
/** Both sides of every round and the one that warms up. The bare store is the faster one. */
export const SECONDS = Math.ceil(((ROUNDS + 1) * 2 * ROUND_MS) / 1000);

export async function compareWithBare(
  scope: BenchScope,
  { name, ours, bare, bareName }: PlacementComparison,
): Promise<Figure[]> {
  const {
    ours: rate,
    peers,
    ratio,
  } = await runPaired(scope, ROUNDS, async () => {
    const placements = await runLoad(ours.journal, { callers: CALLERS, forMs: ROUND_MS });
    const written = await ours.takeWritten();
    demandPlaced(written);
    const { ms, commits } = await replay(bare, written);
    return [placements, (commits * 1000) / ms];
  });
  const peer = `${bareName}: ${Math.round(peers)} of the same commits/s`;
  return [{ name, value: rate, unit: 'placements/s', peer, ...atLeast(RATIO_GOAL, ratio) }];
}

/** What one placement costs on each of two fleets, in turns. */
export async function compareSizes(
  scope: BenchScope,
  name: string,
  { large, small }: { readonly large: Recorded; readonly small: Recorded },
): Promise<Figure[]> {
  const cost = async ({ journal, takeWritten }: Recorded): Promise<number> => {
    const rate = await runLoad(journal, { callers: CALLERS, forMs: ROUND_MS });
    demandPlaced(await takeWritten());
    return 1e6 / rate;
  };
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [await cost(large), await cost(small)]);
  const peer = `with a hundredth of the hosts: ${peers.toFixed(0)} us`;
  return [{ name, value: ours, unit: 'us/placement', peer, ...below(GROWTH_GOAL, ratio) }];
}
