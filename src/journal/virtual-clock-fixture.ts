// A virtual clock for tests: it advances to the next timer as soon as no other work is pending.
import { setImmediate as immediate } from 'node:timers/promises';
import type { Clock } from './index.ts';

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

const LONGEST_MS = 3_600_000;

export class VirtualClock implements Clock {
  #nowMs = 1_000_000_000;
  #sleepers: Sleeper[] = [];
  #turning = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const wake = (): void => {
        signal?.removeEventListener('abort', wake);
        this.#sleepers = this.#sleepers.filter((one) => one !== sleeper);
        resolve();
      };
      const sleeper = { atMs: this.#nowMs + Math.max(ms, 1), wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  async turn(): Promise<void> {
    this.#turning += 1;
    await immediate();
    this.#turning -= 1;
  }

  /** Lets everything run that does not wait for time. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      await immediate();
      if (this.#turning > 0) quiet = 0;
    }
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await this.settle();
    while (this.#step(endMs)) await this.settle();
    this.#nowMs = endMs;
    await this.settle();
  }

  /** Moves time until something is true. */
  async until(what: string, isTrue: () => boolean, withinMs = LONGEST_MS): Promise<void> {
    const endMs = this.#nowMs + withinMs;
    await this.settle();
    while (!isTrue()) {
      if (!this.#step(endMs)) throw new Error(`never, within ${withinMs} ms: ${what}`);
      await this.settle();
    }
  }

  #step(endMs: number): boolean {
    const [first] = this.#sleepers.toSorted((one, other) => one.atMs - other.atMs);
    if (first === undefined || first.atMs > endMs) return false;
    this.#nowMs = first.atMs;
    first.wake();
    return true;
  }
}
