// How long work holds the event loop in one piece: each piece by itself, in processor time of this thread. On a machine that others work on, a
// piece would last as long as they let it.
import { below, type Figure } from './benchmark.ts';
import type { BenchScope } from './scope.ts';

/** Requests that wait this long are not noticed; the lease bears a hundred times as much. */
const PIECE_LIMIT_MS = 20;
const ROUNDS = 3;

export interface SliceTimes {
  readonly longestMs: number;
  readonly count: number;
  readonly sumMs: number;
}

/** What this thread has used so far. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

export function sliceTimes(pieces: readonly number[]): SliceTimes {
  return { longestMs: Math.max(...pieces), count: pieces.length, sumMs: pieces.reduce((sum, one) => sum + one, 0) };
}

export class SliceTimer {
  readonly #pieces: number[] = [];

  run<T>(work: () => T): T {
    const began = threadCpuMs();
    const made = work();
    this.#pieces.push(threadCpuMs() - began);
    return made;
  }

  get lastMs(): number {
    return this.#pieces.at(-1) ?? NaN;
  }

  get times(): SliceTimes {
    return sliceTimes(this.#pieces);
  }
}

/** The median of some rounds, after one that compiles. */
export async function medianRound<T extends SliceTimes>(scope: BenchScope, request: () => Promise<T>): Promise<T> {
  const rounds: T[] = [];
  await request();
  while (rounds.length < ROUNDS) {
    scope.check();
    rounds.push(await request());
  }
  return rounds.sort((one, other) => one.longestMs - other.longestMs)[Math.floor(ROUNDS / 2)] as T;
}

/** The longest piece beside the limit. */
export function pieceFigure(name: string, { longestMs, count, sumMs }: SliceTimes, beside: string): Figure {
  const peer = `limit: ${PIECE_LIMIT_MS} ms; ${count} pieces, ${Math.round(sumMs)} ms in all${beside}`;
  return { name, value: longestMs, unit: 'ms', peer, ...below(1, longestMs / PIECE_LIMIT_MS) };
}
