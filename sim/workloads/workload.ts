// What a workload is: something that goes on in the world while it is troubled. To add one, write its file and add it
// to a scenario.
import type { Model } from '../../src/fleet/index.ts';
import type { Driver, OperationKind } from '../../src/operations/index.ts';
import type { Parts } from '../world/parts.ts';
import type { Born } from '../world/server.ts';
import type { World } from '../world/world.ts';

export interface Workload {
  readonly name: string;
  /** What its documents need beyond what other workloads bring. */
  readonly models?: readonly Model[];
  readonly operationKinds?: readonly OperationKind[];
  readonly drivers?: Readonly<Record<string, (born: Born, world: World) => Driver>>;
  readonly controllers?: Parts['controllers'];
  /** Begins. New things are asked for only while `world.troubled`. */
  readonly start: (world: World) => Play;
}

export interface Play {
  /** Nothing goes wrong before that; at once when nothing is said. */
  readonly ready?: Promise<unknown>;
  /** Everybody has been told all they will be told. */
  readonly over: Promise<unknown>;
  /** All has healed and come to rest: sentences that say what is not as it must be. */
  readonly atRest?: () => readonly string[];
  /** After that everything is undone again, for those who do so; resolves when everybody has been told. */
  readonly undo?: () => Promise<unknown>;
  /** Everything is undone: sentences that say what is left. */
  readonly atEnd?: () => readonly string[];
}
