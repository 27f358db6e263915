// Plays the fixed seeds of a scenario in slices, and counts the guards that they hit.
import { FAULTS_MIN, PORT_CALLS_MIN } from './fixed-seeds.ts';
import { failure } from './report.ts';
import type { Scenario } from './scenarios.ts';
import { runSeed, type SeedResult } from './seed.ts';
import { Tally } from './world/tally.ts';

/** So that a slow machine shows its progress and no single test is near its time limit. */
const SLICE = 25;

export class SeedSuite {
  readonly #scenario: Scenario;
  readonly #marks = new Tally();
  #played = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  get slices(): readonly (readonly [first: number, last: number])[] {
    const { first, last, also = [] } = this.#scenario.seeds;
    const slices = Array.from({ length: Math.ceil((last - first + 1) / SLICE) }, (_, at) => {
      const from = first + at * SLICE;
      return [from, Math.min(last, from + SLICE - 1)] as const;
    });
    return [...slices, ...also.map((seed) => [seed, seed] as const)];
  }

  /** The violation of the first of these seeds that finds one; undefined when none does. */
  async play(first: number, last: number): Promise<string | undefined> {
    for (let seed = first; seed <= last; seed += 1) {
      const result = await runSeed({ seed, scenario: this.#scenario });
      const problem = problemWith(result);
      if (problem !== undefined) return problem;
      for (const [name, count] of result.marks.entries()) this.#marks.count(name, count);
      this.#played += 1;
    }
    return undefined;
  }

  /** All seeds were played, and every guard that they must hit was hit. */
  missed(): readonly string[] {
    const { seeds, marks } = this.#scenario;
    const wanted = seeds.last - seeds.first + 1 + (seeds.also?.length ?? 0);
    if (this.#played !== wanted) return [`${this.#played} of ${wanted} seeds were played`];
    return marks.filter((name) => this.#marks.of(name) === 0);
  }

  summary(): string {
    const counts = this.#marks.entries().map(([name, count]) => `${name} ${count}`);
    return ['guards hit over the fixed seeds:', ...counts].join('\n  ');
  }
}

function problemWith(result: SeedResult): string | undefined {
  const { seed, violation, portCalls, faults } = result;
  if (violation !== undefined) return failure(result);
  if (portCalls.total < PORT_CALLS_MIN) return `seed ${seed}: only ${portCalls.total} port calls`;
  return faults.total < FAULTS_MIN ? `seed ${seed}: only ${faults.total} faults` : undefined;
}
