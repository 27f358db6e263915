// The simulated back end's log of calls: caller and request, in the order of arrival. Bounded: the oldest are dropped.
import type { SimulatedOp } from './faults.ts';

export interface SimulatedCall {
  /** Counts from 1. */
  readonly nth: number;
  readonly op: Exclude<SimulatedOp, 'spawn' | 'plug'>;
  readonly instance: string;
  /** Set for a call about one port. */
  readonly port?: string;
  /** Set for a bulk call. */
  readonly ports?: readonly string[];
  readonly host?: string;
  readonly serial?: number;
  /** The caller: the controller at the lease holder, or a host by itself. */
  readonly by: 'conductor' | 'host';
  readonly atMs: number;
  /** The outcome; absent while the call is open. */
  readonly result?: string;
}

const CALLS_MAX = 10_000;

export class SimulatedCallLog {
  readonly #calls: SimulatedCall[] = [];
  #last = 0;

  /** Returns its number. */
  record(call: Omit<SimulatedCall, 'nth' | 'result'>): number {
    this.#calls.push({ nth: (this.#last += 1), ...call });
    if (this.#calls.length > CALLS_MAX) this.#calls.shift();
    return this.#last;
  }

  recordResult(nth: number, result: string): void {
    const at = nth - (this.#calls[0]?.nth ?? nth + 1);
    const call = this.#calls[at];
    if (call !== undefined) this.#calls[at] = { ...call, result };
  }

  /** Calls after a number, the oldest first. */
  list({ after = 0, limit = this.#calls.length, instance }: CallsQuery = {}): readonly SimulatedCall[] {
    const wanted = this.#calls.filter(
      (call) => call.nth > after && (instance === undefined || call.instance === instance),
    );
    return wanted.slice(0, limit);
  }
}

export interface CallsQuery {
  readonly after?: number | undefined;
  readonly limit?: number | undefined;
  readonly instance?: string | undefined;
}
