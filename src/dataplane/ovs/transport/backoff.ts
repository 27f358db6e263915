// How long to wait before a daemon is tried again: longer each time, and never everybody at once.

/** A daemon that is restarted is back within a second. */
const FIRST_MS = 100;
/** A host whose switch is down has nothing else to do, but need not fill its log either. */
const LONGEST_MS = 5000;

/** `failures`: how often in a row nothing was heard. */
export function backoffMs(failures: number, random: () => number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 16));
  return Math.ceil(longest * (0.5 + random() / 2));
}
