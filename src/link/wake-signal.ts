// Wakes one loop that waits for something to happen, in the same program. A signal without a waiter is kept for the
// next wait, so that nothing is missed between a look and the wait after it.
import type { Clock } from '../journal/index.ts';
import { abortWith } from './abort-with.ts';

/** A reason of our own: without one, each abort makes an exception with a stack that is never read. */
const WAIT_ENDED = 'over';

export class WakeSignal {
  #isPending = false;
  #waiting: AbortController | undefined;

  notify(): void {
    this.#isPending = true;
    this.#waiting?.abort(WAIT_ENDED);
  }

  /** Resolves when it rings, when `signal` is aborted, and after `atMost` if that is given. */
  async wait(signal: AbortSignal, atMost?: { readonly clock: Clock; readonly ms: number }): Promise<void> {
    if (!this.#isPending && !signal.aborted) {
      const over = new AbortController();
      this.#waiting = over;
      const unlink = abortWith(over, signal);
      if (atMost === undefined) await waitForAbort(over.signal);
      else await atMost.clock.sleep(atMost.ms, over.signal);
      unlink();
      over.abort(WAIT_ENDED);
    }
    this.#isPending = false;
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
