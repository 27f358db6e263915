// Everything that is measured about placing instances.
import type { Benchmark } from '../benchmark.ts';
import { inProcessBenchmarks } from './in-process.ts';

export const placementBenchmarks: readonly Benchmark[] = [...inProcessBenchmarks];
