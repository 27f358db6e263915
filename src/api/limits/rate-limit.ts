// Token buckets by caller: a burst of one second's worth, refilled steadily. Made for scripts that run wild, not for
// billing: it is kept per server and forgotten at a restart.

/** Beyond this the buckets that are full again, and so say nothing, are dropped. */
const BUCKETS_MAX = 10_000;

export interface CallerBucket {
  tokens: number;
  atMs: number;
}

/** Full, whatever the limit is. */
export function newBucket(nowMs: number): CallerBucket {
  return { tokens: Infinity, atMs: nowMs };
}

export class RateLimit {
  readonly #perSecond: number;
  readonly #buckets = new Map<string, CallerBucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Takes one; answers how long to wait when there is none left, else 0. */
  take(key: string, nowMs: number): number {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      if (this.#buckets.size >= BUCKETS_MAX) this.#sweep(nowMs);
      bucket = newBucket(nowMs);
      this.#buckets.set(key, bucket);
    }
    return this.takeFrom(bucket, nowMs);
  }

  /** The same, for a caller whose bucket is kept with what else is known of it. */
  takeFrom(bucket: CallerBucket, nowMs: number): number {
    if (this.#perSecond === Infinity) return 0;
    const refill = (Math.max(0, nowMs - bucket.atMs) * this.#perSecond) / 1000;
    bucket.tokens = Math.min(this.#perSecond, bucket.tokens + refill);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) * 1000) / this.#perSecond);
    bucket.tokens -= 1;
    return 0;
  }

  #sweep(nowMs: number): void {
    for (const [key, { atMs }] of this.#buckets) if (nowMs - atMs >= 1000) this.#buckets.delete(key);
    // Ten thousand callers within a second: starting anew is kinder than growing without bound.
    if (this.#buckets.size >= BUCKETS_MAX) this.#buckets.clear();
  }
}
