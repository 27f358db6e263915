// Whether the clock can be trusted for retention: the wall clock is compared with one that cannot be set, and a start with
// the last commit. Pure: both clocks come in as values.

/** Both clocks, read at the same moment. */
export interface ClockReading {
  /** Milliseconds since 1970, as the machine says. */
  readonly wallMs: number;
  /** Milliseconds of a monotonic clock, which cannot be set. */
  readonly monotonicMs: number;
}

export type ClockJump =
  /** The wall clock went further than time did, or back. */
  | { readonly kind: 'jumped'; readonly byMs: number }
  /** So long after the last commit that the clock is more likely wrong than the server was off. */
  | { readonly kind: 'gap'; readonly lastCommitMs: number; readonly nowMs: number };

/** Between two checks, a minute apart: time servers that slew a clock stay far below, those that step it do not. */
const JUMP_MS = 5000;

const DAY_MS = 24 * 3600 * 1000;
const OFF_DAYS_MAX = 30;

export class ClockWatch {
  #last: ClockReading;

  constructor(first: ClockReading) {
    this.#last = first;
  }

  /** Compares with the reading before. */
  compare(now: ClockReading): ClockJump | undefined {
    const byMs = now.wallMs - this.#last.wallMs - (now.monotonicMs - this.#last.monotonicMs);
    this.#last = now;
    return Math.abs(byMs) > JUMP_MS ? { kind: 'jumped', byMs: Math.round(byMs) } : undefined;
  }
}

/** A start checks so many of the newest commits. */
export const COMMITS_CHECKED_MAX = 1000;

/**
 * What a start makes of the times of the newest commits, newest first. Those between two of them count too: a server whose clock
 * jumped may have written some before it was killed, and they would make the clock appear right.
 */
export function findJumpBefore(commitsMs: readonly number[], nowMs: number): ClockJump | undefined {
  let laterMs = nowMs;
  for (const lastCommitMs of commitsMs) {
    if (laterMs - lastCommitMs > OFF_DAYS_MAX * DAY_MS) return { kind: 'gap', lastCommitMs, nowMs: laterMs };
    laterMs = lastCommitMs;
  }
  return undefined;
}

export function describeJump(jump: ClockJump): string {
  if (jump.kind === 'jumped') {
    const seconds = Math.round(Math.abs(jump.byMs) / 1000);
    return `it went ${seconds} s ${jump.byMs < 0 ? 'back' : 'ahead'} of the time that passed`;
  }
  const days = Math.floor((jump.nowMs - jump.lastCommitMs) / DAY_MS);
  return `by the times of the newest commits it went ahead by ${days} days while nothing was written`;
}
