// Everything that is measured about placing instances.
import type { Benchmark } from '../benchmark.ts';
import { coldStartWithInstances } from './cold-start.ts';
import { httpBenchmark } from './http.ts';
import { inProcessBenchmarks } from './in-process.ts';

export const placementBenchmarks: readonly Benchmark[] = [
  ...inProcessBenchmarks,
  httpBenchmark,
  coldStartWithInstances,
];
