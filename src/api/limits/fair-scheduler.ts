// Reads whose cost grows with the fleet or with the journal, so that they delay no other request: reads of the store a few at a
// time, parsing and rendering in slices with turns of the event loop between, both in turn by caller. The lease, writes and
// small reads never wait here. Requests that look at other systems have places of their own: one that does not answer holds up no plan.
import type { Caller } from '../../access/index.ts';
import type { Clock } from '../../journal/index.ts';
import { callerKey, CallerPlaces } from './caller-places.ts';
import { FairQueue } from './fair-queue.ts';
import type { ServerLimits } from './limits.ts';
import { HttpProblem } from '../problem.ts';

/** How long slices run on before everything else has a turn: no request notices so little. */
const TURN_BUDGET_MS = 5;

export type FairSchedulerLimits = Pick<
  ServerLimits,
  | 'readsAtOnce'
  | 'readsReservedForAdmins'
  | 'readsPerToken'
  | 'readsWaitingPerToken'
  | 'looksAtOnce'
  | 'looksReservedForAdmins'
  | 'looksPerToken'
  | 'looksWaitingPerToken'
>;

export class FairScheduler {
  readonly #clock: Clock;
  readonly #limits: FairSchedulerLimits;
  readonly #slices = new FairQueue<() => void>();
  readonly #plans = new FairQueue<() => Promise<void>>();
  readonly #reads: CallerPlaces;
  readonly #looks: CallerPlaces;
  #isSlicing = false;
  #isPlanning = false;

  constructor(clock: Clock, limits: FairSchedulerLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#reads = new CallerPlaces(
      {
        atOnce: limits.readsAtOnce,
        perToken: limits.readsPerToken,
        reservedForAdmins: limits.readsReservedForAdmins,
        waitingPerToken: limits.readsWaitingPerToken,
      },
      { problem: 'too-many-reads', what: 'reads of the journal' },
    );
    this.#looks = new CallerPlaces(
      {
        atOnce: limits.looksAtOnce,
        perToken: limits.looksPerToken,
        reservedForAdmins: limits.looksReservedForAdmins,
        waitingPerToken: limits.looksWaitingPerToken,
      },
      { problem: 'too-many-looks', what: 'requests that look at another system' },
    );
  }

  /** Runs one piece of work, of a few milliseconds, when it is this caller's turn. */
  slice<T>(caller: Caller, work: () => T): Promise<T> {
    // Work runs at once when its turn is there; what it throws is the promise's.
    const run = async (): Promise<T> => work();
    return new Promise((resolve) => {
      this.#slices.add(callerKey(caller), () => resolve(run()));
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
    const key = callerKey(caller);
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
    this.#reads.refuseOverload(caller);
  }

  /** Reads the store when a place is free: callers in turn, some places for administrators alone. */
  read<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    return this.#reads.run(caller, work);
  }

  /** Looks at another system when a place is free, which may take as long as that system does. */
  look<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    this.#looks.refuseOverload(caller);
    return this.#looks.run(caller, work);
  }
}
