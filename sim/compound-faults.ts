// When the incidents of a scenario strike: in about half of its seeds, drawn from a random stream of their own. The other seeds play as if
// there were none, so that seeds which found something before keep finding it.
import type { Fault } from './faults/fault.ts';
import { Rng } from './kernel/rng.ts';
import type { Scenario } from './scenarios.ts';
import type { World } from './world/world.ts';

/** A value for which none of the older single seeds in `fixed-seeds.ts` has any incident. */
const STREAM = 915;
const RETRY_MS = 3000;
const PLANNED_MIN = 4;
const PLANNED_MAX = 8;

function hasCompoundFaults(seed: number): boolean {
  return streamOf(seed).chance(0.5);
}

function streamOf(seed: number): Rng {
  return new Rng(seed ^ STREAM).fork();
}

export class CompoundFaults {
  readonly #world: World;
  readonly #faults: NonNullable<Scenario['compoundFaults']>;
  readonly #rng: Rng;

  constructor(world: World, { compoundFaults = [], hasCompoundFaultsAlways }: Scenario) {
    this.#world = world;
    this.#faults = hasCompoundFaultsAlways === true || hasCompoundFaults(world.seed) ? compoundFaults : [];
    this.#rng = streamOf(world.seed).fork();
  }

  /**
   * Spreads incidents over the first half of the time until then, so that they play out. One whose situation cannot be set up at its time
   * waits until it can.
   */
  plan(untilMs: number): void {
    const { scheduler } = this.#world;
    if (this.#faults.length === 0) return;
    const leftMs = untilMs - scheduler.nowMs;
    for (let left = this.#rng.between(PLANNED_MIN, PLANNED_MAX); left > 0; left -= 1) {
      const [incident, afterMs] = [this.#rng.pickWeighted(this.#faults), this.#rng.below(leftMs / 2)];
      this.#after(incident.takesLong === true ? 0 : afterMs, incident);
    }
  }

  #after(ms: number, incident: Fault): void {
    const world = this.#world;
    world.scheduler.after(ms, `${incident.name} is due`, () => {
      const struck = world.isTroubled ? incident.strike(world) : undefined;
      if (struck !== undefined) world.fault(struck, incident.name);
      else if (world.isTroubled) this.#after(RETRY_MS, incident);
    });
  }
}
