// The durations of successful operations, by kind, for as long as the operations are kept: a histogram in steps of a few percent, so that a
// month of them is a handful of numbers. A deleted operation is taken out again: the projection depends on the documents alone.
import type { AppliedChange, ProjectionState, Projection } from '../../fleet/index.ts';
import { OPERATION, type Operation } from '../../operations/index.ts';

export interface MedianDuration {
  readonly eachMs: number;
  /** The number of measured moves. */
  readonly sampleCount: number;
}

/** Steps per doubling: an estimate is no better than the few percent that this loses. */
const STEPS_PER_DOUBLING = 16;
/** Fewer moves give no useful median. */
const MEASURED_MIN = 3;

type Lengths = Map<number, number>;

class MoveTimes implements ProjectionState {
  readonly #kinds = new Map<string, Lengths>();

  apply({ before, after }: AppliedChange): void {
    this.#add(before?.doc as Operation | undefined, -1);
    this.#add(after?.doc as Operation | undefined, 1);
  }

  #add(operation: Operation | undefined, sign: 1 | -1): void {
    if (operation?.state !== 'succeeded' || operation.finishedAtMs === undefined) return;
    const { kind, finishedAtMs, deadlineAtMs, deadlineMs, counts } = operation;
    // Since the request, or the last retry.
    const length = stepOf(finishedAtMs - (deadlineAtMs - deadlineMs));
    const lengths = this.#kinds.get(kind) ?? new Map<number, number>();
    const count = (lengths.get(length) ?? 0) + sign * (counts?.done ?? 0);
    if (count === 0) lengths.delete(length);
    else lengths.set(length, count);
    if (lengths.size === 0) this.#kinds.delete(kind);
    else this.#kinds.set(kind, lengths);
  }

  /** The median duration; undefined when too few moves were measured. */
  median(kinds: readonly string[]): MedianDuration | undefined {
    const all = kinds.flatMap((kind) => [...(this.#kinds.get(kind) ?? [])]).sort(([one], [other]) => one - other);
    const sampleCount = all.reduce((sum, [, count]) => sum + count, 0);
    if (sampleCount < MEASURED_MIN) return undefined;
    let left = sampleCount / 2;
    const middle = all.find(([, count]) => (left -= count) <= 0);
    return middle && { eachMs: Math.round(2 ** (middle[0] / STEPS_PER_DOUBLING)), sampleCount };
  }
}

function stepOf(ms: number): number {
  return Math.round(Math.log2(Math.max(1, ms)) * STEPS_PER_DOUBLING);
}

export const MOVE_TIMES: Projection<MoveTimes> = {
  name: 'move-times',
  kinds: [OPERATION.name],
  create: () => new MoveTimes(),
};
