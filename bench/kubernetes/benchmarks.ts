// Kubernetes: what drains and joins cost beside the same work without Muster.
import type { Benchmark } from '../benchmark.ts';
import { drainBenchmarks } from './drain.ts';
import { planBenchmark } from './plan.ts';

export const kubernetesBenchmarks: readonly Benchmark[] = [planBenchmark, ...drainBenchmarks];
