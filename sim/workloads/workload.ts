// The interface of a workload: clients that act in the world while it has faults. To add one, write its file and add it to a scenario.
import type { Module } from '../../src/composition/index.ts';
import type { World } from '../world/world.ts';

export interface Workload {
  readonly name: string;
  /** What it adds to the program beyond its modules: documents, operation kinds and drivers of its own. */
  readonly module?: Module;
  /** Starts it. New requests are made only while `world.troubled`. */
  readonly start: (world: World) => WorkloadRun;
}

export interface WorkloadRun {
  /** No faults before that; at once when absent. */
  readonly ready?: Promise<unknown>;
  /** All requests have their final answers. */
  readonly done: Promise<unknown>;
  /** All faults are over and the world is at rest: sentences about everything that is not as it must be. */
  readonly atRest?: () => readonly string[];
  /** Afterwards everything is deleted again, where the workload does so; resolves when all requests are answered. */
  readonly undo?: () => Promise<unknown>;
  /** Everything is deleted: sentences about what is left. */
  readonly atEnd?: () => readonly string[];
}
