// The real clock: the only place of a running server that reads time or starts timers.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../journal/index.ts';

/** Beyond this a timer of Node fires at once instead of later. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** A wall clock that is ahead by more than this was set, or the machine slept: time jumps forward with it. */
const WALL_AHEAD_MS = 1000;

/**
 * Wall-clock time that never goes back: silence, leases and deadlines are measured with it. A clock that is set back, as time servers do,
 * is followed at the next start of the process.
 */
export function steadyTime(
  wallMs: () => number,
  monotonicMs: () => number,
): Pick<Required<Clock>, 'nowMs' | 'jumpedMs'> {
  let [anchorWallMs, anchorMs] = [wallMs(), monotonicMs()];
  let jumpedMs = 0;
  const nowMs = (): number => {
    const steadyMs = anchorWallMs + (monotonicMs() - anchorMs);
    const ahead = wallMs();
    if (ahead - steadyMs <= WALL_AHEAD_MS) return Math.floor(steadyMs);
    jumpedMs += ahead - steadyMs;
    [anchorWallMs, anchorMs] = [ahead, monotonicMs()];
    return Math.floor(ahead);
  };
  return {
    nowMs,
    jumpedMs: () => {
      nowMs();
      return Math.floor(jumpedMs);
    },
  };
}

/** The plain wall clock, and one that cannot be set. */
export const readClocks = (): { readonly wallMs: number; readonly monotonicMs: number } => ({
  wallMs: Date.now(),
  monotonicMs: performance.now(),
});

export const realClock: Clock = {
  ...steadyTime(
    () => Date.now(),
    () => performance.now(),
  ),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const wake = (): void => {
        clearTimeout(timer);
        // A signal that lives as long as the server must not keep a listener for every past sleep.
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
      signal?.addEventListener('abort', wake, { once: true });
    }),
  turn: () => setImmediate(),
};
