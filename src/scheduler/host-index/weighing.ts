// How hosts are ranked: each figure is scaled to 0..1 between its least and its most over all hosts that can be scheduled
// to, and multiplied. That is linear in a host's figures, which is what bounds over many hosts are made of.
import { DISK, FAILURES, FIGURES, INSTANCES, MEMORY, VCPUS } from './host-table.ts';
import type { Weights } from '../settings.ts';

/**
 * Scores are whole numbers of this unit. Sums of terms are then exact, and two hosts that are equally good are so to the
 * last bit, however the terms were rounded.
 */
export const SCORE_UNIT = 2 ** -30;

/** One object for as long as nothing of it changes. */
export interface Weighing {
  /** A host's score: the sum of factor times (figure - origin), in score units. */
  readonly factors: Float64Array;
  readonly origins: Float64Array;
  /** What a host gets for each share by which the request evens out its memory and vcpus; no request does more than one. */
  readonly balance: number;
  /**
   * Which figures count, and in which direction. Undefined when balance counts too, or when some step of a figure is less
   * than a score unit: then two hosts with different figures may have the same score.
   */
  readonly pattern: number | undefined;
}

/** The least and the most of each figure. */
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

/** The weighing under these extremes: the one before when nothing is different. */
export function computeWeighing(before: Weighing, weights: Weights, { low, high }: Extremes): Weighing {
  const factors = new Float64Array(FIGURES);
  const origins = new Float64Array(FIGURES);
  const set = (figure: number, multiplier: number, isBetter: 'more' | 'less'): void => {
    const range = (high[figure] as number) - (low[figure] as number);
    // All equal says nothing. No host at all has a range below 0.
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

/** By how much the shares that a host has left of its memory and of its vcpus differ. */
export function imbalanceOf(memoryShare: number, vcpusShare: number): number {
  return memoryShare > vcpusShare ? memoryShare - vcpusShare : vcpusShare - memoryShare;
}
