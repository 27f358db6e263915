// A clock that moves when a test advances it, and wakes the sleepers whose time has come.
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from '../../journal/index.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

export class ManualClock implements Clock {
  #nowMs = 1_000_000;
  #sleepers: Sleeper[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    if (ms <= 0 || signal?.aborted === true) resolve(undefined);
    else {
      const sleeper = { atMs: this.#nowMs + ms, wake: () => resolve(undefined) };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    }
    return promise;
  }

  async turn(): Promise<void> {
    await immediate();
  }

  /** Advances the time, one sleeper after the other in the order of their times. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await immediate();
    for (;;) {
      const [first] = this.#sleepers.toSorted((one, other) => one.atMs - other.atMs);
      if (first === undefined || first.atMs > endMs) break;
      this.#sleepers = this.#sleepers.filter((one) => one !== first);
      this.#nowMs = first.atMs;
      first.wake();
      await immediate();
    }
    this.#nowMs = endMs;
    await immediate();
  }
}
