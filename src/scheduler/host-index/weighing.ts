// The ranking of hosts: each figure is scaled to 0..1 between its minimum and its maximum over all schedulable hosts, and multiplied. That is linear in a
// host's figures, which makes bounds over many hosts possible.
import { DISK, FAILURES, FIGURES, INSTANCES, MEMORY, VCPUS } from './host-table.ts';
import type { Weights } from '../settings.ts';

/**
 * Scores are whole numbers of this unit. Sums of terms are then exact, and two equally good hosts have identical scores, however the terms were
 * rounded.
 */
export const SCORE_UNIT = 2 ** -30;

/** The identical object while nothing of it changes. */
export interface Weighing {
  /** A host's score: the sum of factor times (figure - origin), in score units. */
  readonly factors: Float64Array;
  readonly origins: Float64Array;
  /** The score per share by which the request balances a host's memory and vcpus; no request balances more than one. */
  readonly balance: number;
  /**
   * Which figures count, and in which direction. Undefined when balance counts too, or when some step of a figure is less
   * than a score unit: then two hosts with different figures may have the same score.
   */
  readonly pattern: number | undefined;
}

/** The minimum and the maximum of each figure. */
export interface Extremes {
  readonly low: Float64Array;
  readonly high: Float64Array;
}

export const UNWEIGHED: Weighing = {
  factors: new Float64Array(FIGURES),
  origins: new Float64Array(FIGURES),
  balance: 0,
  pattern: undefined,
};

/** The weighing under these extremes: the identical object when nothing differs. */
export function computeWeighing(before: Weighing, weights: Weights, { low, high }: Extremes): Weighing {
  const factors = new Float64Array(FIGURES);
  const origins = new Float64Array(FIGURES);
  const set = (figure: number, multiplier: number, isBetter: 'more' | 'less'): void => {
    const range = (high[figure] as number) - (low[figure] as number);
    // Equal figures do not rank. Without any host the range is below 0.
    if (!(range > 0) || multiplier === 0) return;
    factors[figure] = ((isBetter === 'more' ? multiplier : -multiplier) / range) * (1 / SCORE_UNIT);
    origins[figure] = (isBetter === 'more' ? low[figure] : high[figure]) as number;
  };
  set(MEMORY, weights.memory, 'more');
  set(VCPUS, weights.vcpus, 'more');
  set(DISK, weights.disk, 'more');
  set(INSTANCES, weights.spread, 'less');
  set(FAILURES, weights.failures, 'less');
  const balance = weights.balance / SCORE_UNIT;
  const same = before.balance === balance && isEqual(before.factors, factors) && isEqual(before.origins, origins);
  return same ? before : { factors, origins, balance, pattern: balance === 0 ? patternOf(factors) : undefined };
}

function patternOf(factors: Float64Array): number | undefined {
  let pattern = 0;
  for (const factor of factors) {
    if (factor !== 0 && Math.abs(factor) < 2) return undefined;
    pattern = pattern * 3 + Math.sign(factor) + 1;
  }
  return pattern;
}

function isEqual(one: Float64Array, other: Float64Array): boolean {
  return one.every((value, at) => value === other[at]);
}

/** The difference between a host's free shares of memory and vcpus. */
export function imbalanceOf(memoryShare: number, vcpusShare: number): number {
  return memoryShare > vcpusShare ? memoryShare - vcpusShare : vcpusShare - memoryShare;
}
