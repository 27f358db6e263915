// Kubernetes: what drains and joins cost beside the same work without Muster.
import type { Benchmark } from '../benchmark.ts';
import { drainBenchmarks } from './drain.ts';
import { joinBenchmarks } from './joins.ts';
import { planBenchmark } from './plan.ts';

export const kubernetesBenchmarks: readonly Benchmark[] = [planBenchmark, ...drainBenchmarks, ...joinBenchmarks];
