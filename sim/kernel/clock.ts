// Time and ids for a program in the simulation.
import type { Clock, Ids } from '../../src/journal/index.ts';
import type { Program } from './program.ts';
import type { Rng } from './rng.ts';

/** When the world begins: any instant will do, but a plausible one makes traces easier to read. */
export const WORLD_BEGINS_MS = Date.UTC(2030, 0, 1);

export class SimClock implements Clock {
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  nowMs(): number {
    return WORLD_BEGINS_MS + this.#program.scheduler.nowMs + this.#program.skewMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return this.#program.call('clock', 'sleep', (reply) => {
      const timer = reply.answer(Math.max(1, Math.ceil(ms)), undefined);
      const wakeEarly = (): void => {
        timer.cancel();
        reply.answer(0, undefined);
      };
      signal?.addEventListener('abort', wakeEarly, { once: true });
    });
  }

  turn(): Promise<void> {
    return this.#program.call('clock', 'turn', (reply) => void reply.answer(0, undefined));
  }
}

export class SimIds implements Ids {
  readonly #clock: SimClock;
  readonly #rng: Rng;
  readonly #owner: string;
  #count = 0;

  /** `owner` is different for every incarnation, so that ids are globally unique. */
  constructor(owner: string, clock: SimClock, rng: Rng) {
    this.#owner = owner;
    this.#clock = clock;
    this.#rng = rng;
  }

  next(prefix: string): string {
    this.#count += 1;
    const sinceMs = this.#clock.nowMs() - WORLD_BEGINS_MS;
    return `${prefix}-${sinceMs.toString(36).padStart(6, '0')}.${this.#owner}.${this.#count}`;
  }

  secret(): string {
    return Array.from({ length: 8 }, () => this.#rng.uint32().toString(16).padStart(8, '0')).join('');
  }
}
