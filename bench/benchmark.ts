// What a benchmark is and what it answers. A figure without its peer or its limit says nothing: both are in it.
import type { BenchScope } from './scope.ts';

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the value stands beside, and what that was in this run. */
  readonly peer: string;
  /** How good the value is beside its peer. The goal says in which direction. */
  readonly ratio: number;
  readonly goal: string;
  /** Undefined where there is no goal: the figure is for comparing runs. */
  readonly met: boolean | undefined;
}

/** A part of the real world is missing, such as PostgreSQL. */
export interface Skipped {
  readonly skipped: string;
}

export interface Benchmark {
  readonly name: string;
  readonly about: string;
  /** How long it takes, in seconds, said beforehand. At most a minute. */
  readonly seconds: number;
  readonly run: (scope: BenchScope) => Promise<readonly Figure[] | Skipped>;
}

/** "at least": the ratio is value over peer. "at most": it is value over limit. */
export function atLeast(least: number, ratio: number): Pick<Figure, 'ratio' | 'goal' | 'met'> {
  return { ratio, goal: `ratio >= ${least}`, met: ratio >= least };
}

export function below(most: number, ratio: number): Pick<Figure, 'ratio' | 'goal' | 'met'> {
  return { ratio, goal: `ratio < ${most}`, met: ratio < most };
}

export const noGoal = (ratio: number): Pick<Figure, 'ratio' | 'goal' | 'met'> => ({
  ratio,
  goal: 'none',
  met: undefined,
});
