// Does something a certain number of times a second. A beat that came late is made up for, so that the number holds.

/** Timers of this kind are not finer. */
const TICK_MS = 2;
/** After the process was held up it catches up little by little: a burst would be lost in buffers that no real sender fills. */
const BURST_MAX = 4;

export function runPaced(everyMs: number, signal: AbortSignal, act: () => void): void {
  let nextMs = performance.now();
  const tick = (): void => {
    const nowMs = performance.now();
    for (let left = BURST_MAX; left > 0 && nextMs <= nowMs && !signal.aborted; left -= 1, nextMs += everyMs) act();
    if (!signal.aborted) setTimeout(tick, Math.max(TICK_MS, nextMs - performance.now()));
  };
  if (!signal.aborted) tick();
}
