// A mutant is a bug planted from outside: one part of the servers is replaced, and nothing in the product refers to it. Each must be found
// by the fixed seeds; one that is not reveals a property that nothing checks. To add one, write its file and add it to `mutants.ts`.
import type { Scenario } from '../scenarios.ts';
import type { SimParts } from '../world/parts.ts';

export interface Mutant {
  readonly name: string;
  /** The bug, in a sentence. */
  readonly bug: string;
  /** The world in which it is found; the world `core` by default. */
  readonly scenario?: Scenario;
  readonly plant: (parts: SimParts) => SimParts;
  /** One of the fixed seeds that is known to find it, and is tried first: playing all takes long. */
  readonly likely?: number;
  /** The properties that may be the first to be violated. */
  readonly caughtBy: readonly string[];
}
