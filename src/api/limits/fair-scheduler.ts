// Reads whose cost grows with the fleet or with the journal, so that they delay no other request: reads of the store a few at a
// time, parsing and rendering in slices with turns of the event loop between, both in turn by caller. The lease, writes and
// small reads never wait here.
import { permits, type Caller } from '../../access/index.ts';
import type { Clock } from '../../journal/index.ts';
import { FairQueue } from './fair-queue.ts';
import type { Limits } from './limits.ts';
import { HttpProblem } from '../problem.ts';

/** How long slices run on before everything else has a turn: no request notices so little. */
const TURN_BUDGET_MS = 5;

export type FairSchedulerLimits = Pick<
  Limits,
  'readsAtOnce' | 'readsReservedForAdmins' | 'readsPerToken' | 'readsWaitingPerToken'
>;

interface WaitingRead {
  readonly isAdmin: boolean;
  readonly start: () => void;
}

export class FairScheduler {
  readonly #clock: Clock;
  readonly #limits: FairSchedulerLimits;
  readonly #slices = new FairQueue<() => void>();
  readonly #waiting = new FairQueue<WaitingRead>();
  readonly #plans = new FairQueue<() => Promise<void>>();
  readonly #readingOf = new Map<string, number>();
  #reading = 0;
  #isSlicing = false;
  #isPlanning = false;

  constructor(clock: Clock, limits: FairSchedulerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Runs one piece of work, of a few milliseconds, when it is this caller's turn. */
  slice<T>(caller: Caller, work: () => T): Promise<T> {
    // Work runs at once when its turn is there; what it throws is the promise's.
    const run = async (): Promise<T> => work();
    return new Promise((resolve) => {
      this.#slices.add(keyOf(caller), () => resolve(run()));
      if (!this.#isSlicing) void this.#runSlices();
    });
  }

  async #runSlices(): Promise<void> {
    this.#isSlicing = true;
    while (this.#slices.size > 0) {
      await this.#clock.turn();
      const untilMs = performance.now() + TURN_BUDGET_MS;
      do this.#slices.take()?.();
      while (this.#slices.size > 0 && performance.now() < untilMs);
    }
    this.#isSlicing = false;
  }

  /** Runs work that plans on the newest fleet, one at a time for the whole server: many at once would be one long decision. */
  plan<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const key = keyOf(caller);
    if (this.#plans.sizeOf(key) >= this.#limits.readsWaitingPerToken) {
      throw new HttpProblem({
        status: 429,
        code: 'too-many-plans',
        detail: `Your token has ${this.#limits.readsWaitingPerToken} questions waiting that need a plan, as many as it may have. Wait for their answers, then try again.`,
        headers: { 'retry-after': '1' },
      });
    }
    return new Promise((resolve, reject) => {
      this.#plans.add(key, () => work().then(resolve, reject));
      if (!this.#isPlanning) void this.#runPlans();
    });
  }

  async #runPlans(): Promise<void> {
    this.#isPlanning = true;
    while (this.#plans.size > 0) {
      await this.#clock.turn();
      await this.#plans.take()?.();
    }
    this.#isPlanning = false;
  }

  /** Refuses a caller that has too many reads waiting: it is thrown before anything was read. */
  refuseOverload(caller: Caller): void {
    if (this.#waiting.sizeOf(keyOf(caller)) < this.#limits.readsWaitingPerToken) return;
    throw new HttpProblem({
      status: 429,
      code: 'too-many-reads',
      detail: `Your token has ${this.#limits.readsWaitingPerToken} reads of the journal waiting, as many as it may have. Wait for their answers, then try again.`,
      headers: { 'retry-after': '1' },
    });
  }

  /** Reads the store when a place is free: callers in turn, some places for administrators alone. */
  async read<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const key = keyOf(caller);
    await new Promise<void>((start) => {
      this.#waiting.add(key, { isAdmin: permits(caller, 'admin'), start });
      this.#startWaiting();
    });
    try {
      return await work();
    } finally {
      this.#reading -= 1;
      const left = (this.#readingOf.get(key) ?? 1) - 1;
      if (left === 0) this.#readingOf.delete(key);
      else this.#readingOf.set(key, left);
      this.#startWaiting();
    }
  }

  #startWaiting(): void {
    const mayStart = (key: string, { isAdmin }: WaitingRead): boolean => {
      const { readsAtOnce, readsReservedForAdmins, readsPerToken } = this.#limits;
      const places = isAdmin ? readsAtOnce : readsAtOnce - readsReservedForAdmins;
      if (this.#reading >= places || (this.#readingOf.get(key) ?? 0) >= readsPerToken) return false;
      this.#reading += 1;
      this.#readingOf.set(key, (this.#readingOf.get(key) ?? 0) + 1);
      return true;
    };
    for (let next = this.#waiting.take(mayStart); next !== undefined; next = this.#waiting.take(mayStart)) next.start();
  }
}

function keyOf({ token, name }: Caller): string {
  return token ?? name;
}
