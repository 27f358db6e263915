// A token bucket: a burst, then so many per second.

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #sinceMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#sinceMs = nowMs;
  }

  /** Whether one more may pass now. A clock that goes back adds no tokens. */
  take(nowMs: number): boolean {
    const earned = (Math.max(0, nowMs - this.#sinceMs) * this.#rate.perSecond) / 1000;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + earned);
    this.#sinceMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
