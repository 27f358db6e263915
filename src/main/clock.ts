// The real clock. The only place of a running server where time passes by itself.
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../journal/index.ts';

/** Beyond this a timer of Node fires at once instead of later. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export const realClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const wake = (): void => {
        clearTimeout(timer);
        // A signal that lives as long as the server must not collect every sleep that ever was.
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
      signal?.addEventListener('abort', wake, { once: true });
    }),
  turn: () => setImmediate(),
};
