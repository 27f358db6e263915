// Bare metal: what nodes cost, from enrolling them to starting with them.
import type { Benchmark } from '../benchmark.ts';
import { builds } from './builds.ts';
import { changeCost } from './change-cost.ts';
import { enrolBenchmark, forwardedEnrolBenchmark } from './enrol.ts';
import { httpReservations, parallelReservations } from './reservations/http.ts';
import { inProcessReservations } from './reservations/in-process.ts';
import { manyShapesReservations } from './reservations/shapes.ts';
import { lostManager } from './lost-manager.ts';
import { nodeMemoryBenchmark, nodesColdStart } from './nodes-at-rest.ts';

export const baremetalBenchmarks: readonly Benchmark[] = [
  ...inProcessReservations,
  httpReservations,
  parallelReservations,
  manyShapesReservations,
  lostManager,
  changeCost,
  builds,
  enrolBenchmark,
  forwardedEnrolBenchmark,
  nodeMemoryBenchmark,
  nodesColdStart,
];
