// One incarnation of a program: what runs between a start and a crash. All its waits are port calls made through it. Once it is dead its
// calls never settle and new ones are refused; while it is paused, answers are withheld.
import type { Handle, TaskHost, Scheduler } from './scheduler.ts';

/** How a port answers a call. Only the first answer counts; each comes after a delay, in the caller's own program. */
export interface ReplyHandle<T> {
  answer(delayMs: number, value: T): Handle;
  fail(delayMs: number, error: Error): Handle;
}

export interface CallCounter {
  count(port: string): void;
}

export class Program implements TaskHost {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly #calls: CallCounter;
  #alive = true;
  #pausedUntilMs = 0;
  /** The offset of its clock: the steady time of a process, which follows a clock that is set forward and not one that is set back. */
  skewMs = 0;
  /** The offset of its machine's wall clock. */
  wallSkewMs = 0;

  constructor(name: string, scheduler: Scheduler, calls: CallCounter) {
    this.name = name;
    this.scheduler = scheduler;
    this.#calls = calls;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get paused(): boolean {
    return this.#pausedUntilMs > this.scheduler.nowMs;
  }

  crash(): void {
    this.#alive = false;
  }

  /** Withholds all its tasks for this long, like a paused virtual machine. */
  pause(forMs: number): void {
    this.#pausedUntilMs = this.scheduler.nowMs + forMs;
  }

  /** A call that leaves the program. The port gets a reply to answer with, once or never. */
  call<T>(port: string, name: string, exchange: (reply: ReplyHandle<T>) => void): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (!this.#alive) return promise;
    this.#calls.count(port);
    const label = `${port}.${name}`;
    this.scheduler.note(this.name, label);
    exchange({
      answer: (delayMs, value) => this.scheduler.after(delayMs, `${label} answered`, () => resolve(value), this),
      fail: (delayMs, error) =>
        this.scheduler.after(delayMs, `${label} failed: ${error.message}`, () => reject(error), this),
    });
    return promise;
  }
}
