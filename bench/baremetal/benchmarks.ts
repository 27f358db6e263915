// Bare metal: what nodes cost, from enrolling them to starting with them.
import type { Benchmark } from '../benchmark.ts';
import { enrolBenchmark } from './enrol.ts';
import { nodeMemoryBenchmark, nodesColdStart } from './nodes-at-rest.ts';

export const baremetalBenchmarks: readonly Benchmark[] = [enrolBenchmark, nodeMemoryBenchmark, nodesColdStart];
