// The agents that wait for their view to change: at most one wait per host, woken by name. There is no timer per agent; the owner calls
// `expire` regularly.

export type WakeReason = 'changed' | 'expired';

const ENDED_AT_ONCE_MIN = 20;
/** At 20 calls a second, all waits could be ended in 5 s: far less than a wait lasts. */
const LOOKS_TO_END_ALL = 100;

interface Waiter {
  readonly untilMs: number;
  readonly wake: (how: WakeReason) => void;
}

export class LongPollWaiters {
  /**
   * In the order in which they end, which is the order of arrival while all wait equally long: a scan stops at the first that has time
   * left.
   */
  readonly #inOrder = new Map<string, Waiter>();
  /** Those that end sooner than an earlier arrival. */
  readonly #others = new Map<string, Waiter>();
  #latestMs = 0;

  get size(): number {
    return this.#inOrder.size + this.#others.size;
  }

  /** Waits for `host`. A new poll of the same agent ends its earlier wait. */
  wait(host: string, untilMs: number): Promise<WakeReason> {
    this.#resolve(host, 'expired');
    const waiters = untilMs < this.#latestMs ? this.#others : this.#inOrder;
    this.#latestMs = Math.max(this.#latestMs, untilMs);
    return new Promise((resolve) => {
      waiters.set(host, { untilMs, wake: resolve });
    });
  }

  wake(host: string): void {
    this.#resolve(host, 'changed');
  }

  /**
   * Ends expired waits, the longest first and not all at once: otherwise agents that started together would poll together for ever. The
   * others wait a moment longer.
   */
  expire(nowMs: number): void {
    let left = Math.max(ENDED_AT_ONCE_MIN, Math.ceil(this.size / LOOKS_TO_END_ALL));
    for (const waiters of [this.#inOrder, this.#others]) {
      for (const [host, { untilMs }] of waiters) {
        if (left === 0) return;
        if (untilMs <= nowMs) {
          this.#resolve(host, 'expired');
          left -= 1;
        } else if (waiters === this.#inOrder) break;
      }
    }
  }

  /** All waiters check again. */
  wakeAll(): void {
    for (const host of [...this.#inOrder.keys(), ...this.#others.keys()]) this.#resolve(host, 'changed');
  }

  #resolve(host: string, how: WakeReason): void {
    for (const waiters of [this.#inOrder, this.#others]) {
      const waiter = waiters.get(host);
      waiters.delete(host);
      waiter?.wake(how);
    }
  }
}
