// One process, one virtual clock. Code runs until it waits for a port; then the seed picks which of the ready completions comes next. Time
// advances only when nothing is ready. Nothing in here may read a real clock or a real socket.
import type { Rng } from './rng.ts';
import { Timers, type TimerTask } from './timers.ts';
import type { Trace } from './trace.ts';

/** Where a task runs: a program that may be dead or paused. */
export interface TaskHost {
  readonly name: string;
  readonly alive: boolean;
  /** Its tasks are withheld until then. */
  readonly pausedUntilMs: number;
}

interface ScheduledTask extends TimerTask {
  readonly place: TaskHost | undefined;
  readonly label: string;
  readonly run: () => void;
}

export interface Handle {
  cancel(): void;
}

/** Turns of the real event loop per step: microtasks are drained between them, and the cost of the loop is shared. */
const TURNS_AT_ONCE = 64;
/** This many steps without an advance of time are an endless loop. */
const STEPS_AT_ONE_TIME_MAX = 50_000;

export class Scheduler {
  readonly trace: Trace;
  readonly #rng: Rng;
  readonly #later = new Timers<ScheduledTask>();
  readonly #ready: ScheduledTask[] = [];
  #order = 0;
  #nowMs = 0;
  #steps = 0;
  #stepsAtThisTime = 0;
  #stopped = false;

  constructor(rng: Rng, trace: Trace) {
    this.#rng = rng;
    this.trace = trace;
  }

  /** Virtual time since the start of the world. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Schedules a task. With a place it is withheld while that is paused and dropped once it is dead. */
  after(delayMs: number, label: string, run: () => void, place?: TaskHost): Handle {
    this.#order += 1;
    const dueMs = this.#nowMs + delayMs;
    const task: ScheduledTask = { dueMs, order: this.#order, cancelled: false, place, label, run };
    if (delayMs <= 0) this.#ready.push(task);
    else this.#later.push(task);
    return {
      cancel: () => {
        task.cancelled = true;
      },
    };
  }

  note(who: string, what: string): void {
    this.trace.add(this.#nowMs, who, what);
  }

  /** Ends `run` after the current step. */
  stop(): void {
    this.#stopped = true;
  }

  /** Runs until `untilMs` has come, nothing is left to do, or `stop`. */
  run(untilMs: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    let turns = 0;
    let over = false;
    const turn = (): void => {
      turns -= 1;
      if (over) return;
      try {
        over = this.#stopped || !this.#step(untilMs);
        if (over) resolve(undefined);
        else if (turns === 0) ask();
      } catch (error) {
        over = true;
        reject(error);
      }
    };
    // A turn of the real event loop drains every microtask before the next one; that makes the order deterministic.
    const ask = (): void => {
      for (; turns < TURNS_AT_ONCE; turns += 1) setImmediate(turn);
    };
    ask();
    return promise;
  }

  #step(untilMs: number): boolean {
    for (;;) {
      if (this.#ready.length === 0 && !this.#advance(untilMs)) return false;
      const task = this.#takeReady();
      if (task.cancelled || task.place?.alive === false) continue;
      const pausedUntilMs = task.place?.pausedUntilMs ?? 0;
      if (pausedUntilMs > this.#nowMs) {
        task.dueMs = pausedUntilMs;
        this.#later.push(task);
        continue;
      }
      this.#steps += 1;
      this.#stepsAtThisTime += 1;
      if (this.#stepsAtThisTime > STEPS_AT_ONE_TIME_MAX) throw new Error(`time stands still at "${task.label}"`);
      this.note(task.place?.name ?? '-', task.label);
      task.run();
      return true;
    }
  }

  #takeReady(): ScheduledTask {
    const ready = this.#ready;
    const at = ready.length === 1 ? 0 : this.#rng.below(ready.length);
    const task = ready[at] as ScheduledTask;
    const last = ready.pop() as ScheduledTask;
    if (at < ready.length) ready[at] = last;
    return task;
  }

  /** Advances time to the next task; false when that is beyond `untilMs` or there is none. */
  #advance(untilMs: number): boolean {
    const nextMs = this.#later.earliestMs;
    if (nextMs === undefined || nextMs > untilMs) {
      this.#nowMs = Math.max(this.#nowMs, untilMs);
      return false;
    }
    this.#nowMs = nextMs;
    this.#stepsAtThisTime = 0;
    while (this.#later.earliestMs !== undefined && this.#later.earliestMs <= nextMs) {
      this.#ready.push(this.#later.pop() as ScheduledTask);
    }
    return true;
  }
}
