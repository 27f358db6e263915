// How long it takes until something that could not be done is tried again: soon at first, then less and less often, because
// every try is written down.
const FIRST_MS = 2000;
const LONGEST_MS = 60_000;

/** `attempt` counts from 1. */
export function backoffMs(attempt: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
}
