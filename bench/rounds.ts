// Two things measured in turns, in one run: whatever else the machine does meets both of them. The ratio is taken within
// each round, and the median over the rounds is the answer, so that one bad moment does not decide.
import type { BenchScope } from './scope.ts';

export interface PairedResult {
  /** Medians, in whatever the two measure. */
  readonly ours: number;
  readonly peers: number;
  /** The median of the rounds' ours/peers. */
  readonly ratio: number;
}

/** Measures both in each round; the first round warms up and does not count. */
export async function runPaired(
  scope: BenchScope,
  rounds: number,
  both: (round: number) => Promise<readonly [ours: number, peers: number]>,
): Promise<PairedResult> {
  const pairs: (readonly [number, number])[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    scope.check();
    const pair = await both(round);
    if (round > 0) pairs.push(pair);
  }
  return summarisePairs(pairs);
}

export function summarisePairs(pairs: readonly (readonly [ours: number, peers: number])[]): PairedResult {
  return {
    ours: median(pairs.map(([ours]) => ours)),
    peers: median(pairs.map(([, peers]) => peers)),
    ratio: median(pairs.map(([ours, peers]) => ours / peers)),
  };
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}
