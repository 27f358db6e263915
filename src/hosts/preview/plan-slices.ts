// Plans on the newest fleet that would take long, made a slice at a time: decisions, the lease and other requests have their turns in
// between. Each slice is made where decisions are, on what is true there, and commits nothing.
import type { Authority, RouteContext } from '../../access/index.ts';
import { LongTrial, mark, type FleetReader, type Refusal, type Trial } from '../../fleet/index.ts';
import { accept, type Decision, type Outcome } from '../../journal/index.ts';

/** How long a slice goes on before everything else has a turn. The step that it ends with may take a few milliseconds more. */
const SLICE_MS = 5;
/** Where the clock stands still no slice is endless. */
const STEPS_PER_SLICE_MAX = 2000;
/** Hosts that come, go or are edited make a plan begin anew. So often in a row that is not chance. */
export const TRIES_MAX = 5;

export const UNSETTLED = 'fleet-unsettled';

/** What the steps of a plan are made on. It is the same object in every slice, and shows the fleet as it is in each. */
export interface Slices {
  readonly fleet: FleetReader;
  /** One that documents of these kinds can be added to, for what is planned next. The one before is not good any more. */
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

export type Steps<T> = Generator<undefined, T>;

/** One try of a plan: it is gone on with in every slice, also when a slice is decided once more. */
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
  /** Of the fleet, when the plan was begun and when it was done. */
  readonly revisions: { readonly first: number; readonly last: number };
}

/** Makes a plan in slices. Nothing of it is kept. */
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

/** A plan that could not be made, or that held no more each time that it was to be carried out. */
export function fleetUnsettled(): Refusal {
  const message = `What this plan rests on changed each of the ${TRIES_MAX} times that it was made: hosts came, went or were edited, or what lives on them did. Nothing was changed. Ask again when that is over.`;
  return { kind: 'conflict', code: UNSETTLED, message };
}
