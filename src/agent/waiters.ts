// The agents that wait for their view to change: at most one wait per host, woken by name. There is no timer per agent;
// whoever owns this lets it look at the clock now and then.

export type Woken = 'changed' | 'over';

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

  /** Ends the waits whose time has come. */
  expire(nowMs: number): void {
    for (const [host, { untilMs }] of this.#byHost) if (untilMs <= nowMs) this.#end(host, 'over');
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
