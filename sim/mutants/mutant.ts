// A mutant is a bug planted from outside: one part of the servers is replaced, nothing in the product knows of it. Each
// must be found by the fixed seeds; one that is not shows a property that nothing checks. To add one, write its file and
// add it to `mutants.ts`.
import type { Scenario } from '../scenarios.ts';
import type { SimParts } from '../world/parts.ts';

export interface Mutant {
  readonly name: string;
  /** What is wrong with it, in a sentence. */
  readonly bug: string;
  /** Where it is to be found; in the house as a whole when nothing is said. */
  readonly scenario?: Scenario;
  readonly plant: (parts: SimParts) => SimParts;
  /** One of the fixed seeds that is known to find it, and tried first: the others take their time. The test prints which one found it. */
  readonly likely?: number;
  /** The properties that may be the first to break. */
  readonly caughtBy: readonly string[];
}
