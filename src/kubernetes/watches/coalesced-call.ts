// A call that many events request: made at once, and no more often than every so many milliseconds. What is requested meanwhile is one call, afterwards.
import type { Clock } from '../../journal/index.ts';

export interface CoalescedCallOptions {
  readonly clock: Clock;
  readonly gapMs: number;
  readonly call: () => void;
  /** Nothing is called after it. */
  readonly signal: AbortSignal;
}

export class CoalescedCall {
  readonly #options: CoalescedCallOptions;
  #lastMs = -Infinity;
  #isRequested = false;

  constructor(options: CoalescedCallOptions) {
    this.#options = options;
  }

  request(): void {
    if (this.#isRequested) return;
    this.#isRequested = true;
    void this.#callWhenDue();
  }

  async #callWhenDue(): Promise<void> {
    const { clock, gapMs, call, signal } = this.#options;
    const pauseMs = this.#lastMs + gapMs - clock.nowMs();
    // What comes in one piece is one event.
    await (pauseMs > 0 ? clock.sleep(Math.min(pauseMs, gapMs), signal) : clock.turn());
    this.#isRequested = false;
    if (signal.aborted) return;
    this.#lastMs = clock.nowMs();
    call();
  }
}
