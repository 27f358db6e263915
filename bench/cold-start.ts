// Cold start: from the start of a server's process until it says that it is ready, with a fleet in its journal, and the
// most memory it took. Node's own start and the reading of the program are part of it.
import { below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import { median } from './rounds.ts';
import type { BenchScope } from './scope.ts';
import { seedFolder } from './seeded-store.ts';
import { cpuSeconds, peakRssBytes, startServer } from './server-process.ts';

/** At 10^5 hosts. */
const LIMITS: ColdStartLimits = { seconds: 2.5, megabytes: 500 };
const HOSTS_OF_THE_GOAL = 100_000;
const ROUNDS = 5;

const SECONDS: Readonly<Record<number, number>> = { 1_000: 10, 10_000: 15, 100_000: 45 };

const coldStart = (hosts: number): Benchmark => ({
  name: `cold-start-${hosts}`,
  about: `a server process until /readyz is 200, and its peak memory, with ${hosts} hosts in SQLite`,
  seconds: SECONDS[hosts] ?? 60,
  run: (scope) => measure(scope, hosts),
});

async function measure(scope: BenchScope, hosts: number): Promise<Figure[]> {
  const data = await scope.tempDir();
  await seedFolder(data, { hosts });
  const isGoal = hosts === HOSTS_OF_THE_GOAL;
  return measureColdStart(scope, { name: `cold-start-${hosts}`, data, limits: LIMITS, isGoal });
}

export interface ColdStartLimits {
  readonly seconds: number;
  readonly megabytes: number;
}

export interface ColdStart {
  readonly name: string;
  /** A folder with a journal in it. */
  readonly data: string;
  readonly limits: ColdStartLimits;
  /** Whether to stay below the limits is a goal. */
  readonly isGoal: boolean;
}

export async function measureColdStart(
  scope: BenchScope,
  { name, data, limits, isGoal }: ColdStart,
): Promise<Figure[]> {
  const seconds: number[] = [];
  const megabytes: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    scope.check();
    const server = await startServer(scope, { data });
    seconds.push(server.readyMs / 1000);
    cpu.push(await cpuSeconds(server.pid));
    megabytes.push((await peakRssBytes(server.pid)) / 1e6);
    await server.kill('SIGTERM');
  }
  const goal = isGoal ? (ratio: number) => below(1, ratio) : noGoal;
  const [time, memory, used] = [median(seconds), median(megabytes), median(cpu)];
  const [inTime, inMemory] = [`limit: ${limits.seconds} s`, `limit: ${limits.megabytes} MB`];
  return [
    { name, value: time, unit: 's', peer: inTime, ...goal(time / limits.seconds) },
    // What it would take on a machine with nothing else to do: the time above counts waiting for a core, this does not.
    { name: `${name}-cpu`, value: used, unit: 's', peer: inTime, ...noGoal(used / limits.seconds) },
    { name: `${name}-memory`, value: memory, unit: 'MB', peer: inMemory, ...goal(memory / limits.megabytes) },
  ];
}

export const coldStartBenchmarks: readonly Benchmark[] = [1_000, 10_000, HOSTS_OF_THE_GOAL].map(coldStart);
