// Places for work that waits on something else: the store, another system. Callers in turn, so many of one token at once, some for administrators alone.
import { permits, type Caller } from '../../access/index.ts';
import { FairQueue } from './fair-queue.ts';
import { HttpProblem } from '../problem.ts';

interface PlaceLimits {
  readonly atOnce: number;
  readonly perToken: number;
  readonly reservedForAdmins: number;
  readonly waitingPerToken: number;
}

interface PlaceRefusal {
  /** Its code. */
  readonly problem: string;
  /** What the token has waiting, as in "reads of the journal". */
  readonly what: string;
}

interface WaitingWork {
  readonly isAdmin: boolean;
  readonly start: () => void;
}

export class CallerPlaces {
  readonly #limits: PlaceLimits;
  readonly #refusal: PlaceRefusal;
  readonly #waiting = new FairQueue<WaitingWork>();
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits, refusal: PlaceRefusal) {
    this.#limits = limits;
    this.#refusal = refusal;
  }

  /** Refuses a caller that has too much waiting: it is thrown before anything was done. */
  refuseOverload(caller: Caller): void {
    const { waitingPerToken } = this.#limits;
    if (this.#waiting.sizeOf(callerKey(caller)) < waitingPerToken) return;
    const { problem: code, what } = this.#refusal;
    throw new HttpProblem({
      status: 429,
      code,
      detail: `Your token has ${waitingPerToken} ${what} waiting, as many as it may have. Wait for their answers, then try again.`,
      headers: { 'retry-after': '1' },
    });
  }

  /** Runs work when a place is free. */
  async run<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const key = callerKey(caller);
    await new Promise<void>((start) => {
      this.#waiting.add(key, { isAdmin: permits(caller, 'admin'), start });
      this.#startWaiting();
    });
    try {
      return await work();
    } finally {
      this.#taken -= 1;
      const left = (this.#takenBy.get(key) ?? 1) - 1;
      if (left === 0) this.#takenBy.delete(key);
      else this.#takenBy.set(key, left);
      this.#startWaiting();
    }
  }

  #startWaiting(): void {
    const mayStart = (key: string, { isAdmin }: WaitingWork): boolean => {
      const { atOnce, reservedForAdmins, perToken } = this.#limits;
      const places = isAdmin ? atOnce : atOnce - reservedForAdmins;
      if (this.#taken >= places || (this.#takenBy.get(key) ?? 0) >= perToken) return false;
      this.#taken += 1;
      this.#takenBy.set(key, (this.#takenBy.get(key) ?? 0) + 1);
      return true;
    };
    for (let next = this.#waiting.take(mayStart); next !== undefined; next = this.#waiting.take(mayStart)) next.start();
  }
}

/** Whom its work is counted for. */
export function callerKey({ token, name }: Caller): string {
  return token ?? name;
}
