import { apiBenchmarks } from './api/benchmarks.ts';
import type { Benchmark } from './benchmark.ts';
import { coldStartBenchmarks } from './cold-start.ts';
import { journalBenchmarks } from './journal/benchmarks.ts';

export const BENCHMARKS: readonly Benchmark[] = [...journalBenchmarks, ...apiBenchmarks, ...coldStartBenchmarks];
