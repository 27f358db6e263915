// The agents that wait for their view to change: at most one wait per host, woken by name. There is no timer per agent;
// whoever owns this lets it look at the clock now and then.

export type Woken = 'changed' | 'over';

const ENDED_AT_ONCE_MIN = 20;
/** At 20 looks a second, all waits could be ended in 5 s: far less than a wait lasts. */
const LOOKS_TO_END_ALL = 100;

interface Waiter {
  readonly untilMs: number;
  readonly wake: (how: Woken) => void;
}

export class Waiters {
  readonly #byHost = new Map<string, Waiter>();

  get size(): number {
    return this.#byHost.size;
  }

  /** Waits for `host`. An agent that asks again has given up its earlier wait. */
  wait(host: string, untilMs: number): Promise<Woken> {
    this.#end(host, 'over');
    return new Promise((resolve) => {
      this.#byHost.set(host, { untilMs, wake: resolve });
    });
  }

  changed(host: string): void {
    this.#end(host, 'changed');
  }

  /**
   * Ends waits whose time has come, the longest first and not all at once: agents that started together would else ask
   * together for ever. The others have a moment more.
   */
  expire(nowMs: number): void {
    let left = Math.max(ENDED_AT_ONCE_MIN, Math.ceil(this.#byHost.size / LOOKS_TO_END_ALL));
    for (const [host, { untilMs }] of this.#byHost) {
      if (untilMs > nowMs) continue;
      this.#end(host, 'over');
      left -= 1;
      if (left === 0) return;
    }
  }

  /** Everybody looks again. */
  changedAll(): void {
    for (const host of [...this.#byHost.keys()]) this.#end(host, 'changed');
  }

  #end(host: string, how: Woken): void {
    const waiter = this.#byHost.get(host);
    this.#byHost.delete(host);
    waiter?.wake(how);
  }
}
