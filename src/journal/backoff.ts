// How long to wait before a next try: twice as long after each failure, up to a limit. The one formula for it; who waits says how long.

export interface BackoffPolicy {
  /** After the first failure. */
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Far beyond any limit, and far from what a number can hold. */
const DOUBLINGS_MAX = 16;

/**
 * `failures` counts from 1: those in a row, with the one that is waited for now. With `random` (from 0 to 1) it is somewhere in the upper
 * half, so that many that failed together do not all try again together.
 */
export function backoffMs({ firstMs, longestMs }: BackoffPolicy, failures: number, random?: () => number): number {
  const delayMs = Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), DOUBLINGS_MAX));
  return random === undefined ? delayMs : Math.ceil(delayMs * (0.5 + random() / 2));
}
