// Runs work that is made in steps, a few milliseconds at a time, yielding to the event loop in between.
import type { Steps } from '../fleet/index.ts';
import type { Clock } from '../journal/index.ts';

/** How long a slice lasts. The step that it ends with may take a little longer. */
const SLICE_MS = 5;
/** Where the clock stands still no slice is endless. */
const STEPS_PER_SLICE_MAX = 100;

export async function runInSlices<T>(steps: Steps<T>, clock: Pick<Clock, 'nowMs' | 'turn'>): Promise<T> {
  for (;;) {
    const untilMs = clock.nowMs() + SLICE_MS;
    for (let taken = 0; taken < STEPS_PER_SLICE_MAX && clock.nowMs() < untilMs; taken += 1) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
    await clock.turn();
  }
}
