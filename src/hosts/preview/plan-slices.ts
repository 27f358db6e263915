// Makes long plans on the newest fleet a slice at a time, so that decisions, lease renewals and other requests run in between. Each slice runs
// in the decider, on current state, and commits nothing.
import type { Authority, RouteContext } from '../../access/index.ts';
import { LongTrial, mark, type FleetReader, type Refusal, type Steps, type Trial } from '../../fleet/index.ts';
import { accept, type Decision, type Outcome } from '../../journal/index.ts';

/** How long a slice runs before everything else does. Its last step may take a few milliseconds more. */
const SLICE_MS = 5;
/** A bound where the clock stands still. */
const STEPS_PER_SLICE_MAX = 2000;
/** A plan starts over when hosts come, leave or are edited. So many times in a row is not chance. */
export const TRIES_MAX = 5;

export const UNSETTLED = 'fleet-unsettled';

/** What the steps of a plan read. It is the same object in every slice, and shows the current fleet in each. */
export interface Slices {
  readonly fleet: FleetReader;
  /** A trial to which documents of these kinds can be added, for what is planned next. It invalidates the trial before it. */
  readonly newTrial: (kinds: readonly string[]) => Trial;
}

class SlicedFleet implements Slices {
  readonly fleet: LongTrial;
  #newest: FleetReader;
  #trial: LongTrial | undefined;

  constructor(newest: FleetReader) {
    this.#newest = newest;
    this.fleet = new LongTrial(newest, []);
  }

  readonly newTrial = (kinds: readonly string[]): Trial => (this.#trial = new LongTrial(this.#newest, kinds));

  rebase(newest: FleetReader): void {
    this.#newest = newest;
    this.fleet.rebase(newest);
    this.#trial?.rebase(newest);
  }

  get isOutdated(): boolean {
    return this.#trial?.isOutdated === true;
  }
}

/** One attempt at a plan: every slice continues it, also when the slice is decided again. */
class PlanAttempt<T> {
  readonly #steps: (slices: Slices) => Steps<T>;
  #run: { readonly slices: SlicedFleet; readonly steps: Steps<T>; readonly first: number } | undefined;
  #made: SlicedPlan<T> | undefined;

  constructor(steps: (slices: Slices) => Steps<T>) {
    this.#steps = steps;
  }

  slice(fleet: FleetReader, nowMs: () => number): SlicedPlan<T> | 'outdated' | 'unfinished' {
    if (this.#made !== undefined) return this.#made;
    if (this.#run === undefined) {
      const slices = new SlicedFleet(fleet);
      this.#run = { slices, steps: this.#steps(slices), first: fleet.revision };
    }
    const { slices, steps, first } = this.#run;
    slices.rebase(fleet);
    if (slices.isOutdated) return 'outdated';
    const untilMs = nowMs() + SLICE_MS;
    for (let taken = 0; taken < STEPS_PER_SLICE_MAX && nowMs() < untilMs; taken += 1) {
      const { done, value } = steps.next();
      if (done === true) return (this.#made = { plan: value, revisions: { first, last: fleet.revision } });
    }
    return 'unfinished';
  }
}

export interface SlicedPlan<T> {
  readonly plan: T;
  /** Fleet revisions at the begin and the end of the plan. */
  readonly revisions: { readonly first: number; readonly last: number };
}

/** Makes a plan in slices and commits nothing. */
export async function planInSlices<T>(
  { submit, clock }: Pick<RouteContext, 'submit' | 'clock'>,
  authority: Authority,
  steps: (slices: Slices) => Steps<T>,
): Promise<SlicedPlan<T> | Refusal> {
  let [attempt, tries] = [new PlanAttempt(steps), 1];
  for (;;) {
    const decide = (fleet: FleetReader): Decision<ReturnType<PlanAttempt<T>['slice']>> =>
      accept(
        [],
        attempt.slice(fleet, () => clock.nowMs()),
      );
    const outcome: Outcome<ReturnType<PlanAttempt<T>['slice']>> = await submit(authority, { decide });
    if (outcome.kind === 'refused') return outcome.refusal;
    const { answer } = outcome;
    if (answer === 'outdated') {
      mark('plan-begun-anew');
      if (tries === TRIES_MAX) return fleetUnsettled();
      [attempt, tries] = [new PlanAttempt(steps), tries + 1];
    } else if (answer !== 'unfinished') return answer;
    await clock.turn();
  }
}

/** The failure of a plan that could not be made, or was outdated each time before it could be carried out. */
export function fleetUnsettled(): Refusal {
  const message = `The hosts of this plan, or what lives on them, changed during each of ${TRIES_MAX} attempts to make it: hosts joined, left or were edited. Nothing was changed. Repeat the request when the fleet is quiet.`;
  return { kind: 'conflict', code: UNSETTLED, message };
}
