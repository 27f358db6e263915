// What a workload is: something that goes on in the world while it is troubled. To add one, write its file and add it
// to a scenario.
import type { Module } from '../../src/composition/index.ts';
import type { World } from '../world/world.ts';

export interface Workload {
  readonly name: string;
  /** What it brings to the program beyond its modules: documents, operation kinds and drivers of its own. */
  readonly module?: Module;
  /** Begins. New things are asked for only while `world.troubled`. */
  readonly start: (world: World) => WorkloadRun;
}

export interface WorkloadRun {
  /** Nothing goes wrong before that; at once when nothing is said. */
  readonly ready?: Promise<unknown>;
  /** Everybody has been told all they will be told. */
  readonly done: Promise<unknown>;
  /** All has healed and come to rest: sentences that say what is not as it must be. */
  readonly atRest?: () => readonly string[];
  /** After that everything is undone again, for those who do so; resolves when everybody has been told. */
  readonly undo?: () => Promise<unknown>;
  /** Everything is undone: sentences that say what is left. */
  readonly atEnd?: () => readonly string[];
}
