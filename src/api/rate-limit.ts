// Token buckets by caller: a burst of one second's worth, refilled steadily. Made for scripts that run wild, not for
// billing: it is kept per server and forgotten at a restart.

/** Beyond this the buckets that are full again, and so say nothing, are dropped. */
const BUCKETS_MAX = 10_000;

interface Bucket {
  left: number;
  atMs: number;
}

export class RateLimit {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Takes one; answers how long to wait when there is none left, else 0. */
  take(key: string, nowMs: number): number {
    if (this.#perSecond === Infinity) return 0;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= BUCKETS_MAX) this.#sweep(nowMs);
      bucket = { left: this.#perSecond, atMs: nowMs };
      this.#buckets.set(key, bucket);
    }
    const refill = (Math.max(0, nowMs - bucket.atMs) * this.#perSecond) / 1000;
    bucket.left = Math.min(this.#perSecond, bucket.left + refill);
    bucket.atMs = nowMs;
    if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * 1000) / this.#perSecond);
    bucket.left -= 1;
    return 0;
  }

  #sweep(nowMs: number): void {
    for (const [key, { atMs }] of this.#buckets) if (nowMs - atMs >= 1000) this.#buckets.delete(key);
    // Ten thousand callers within a second: starting anew is kinder than growing without bound.
    if (this.#buckets.size >= BUCKETS_MAX) this.#buckets.clear();
  }
}
