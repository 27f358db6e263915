// Enrolling machines in one call to a real server, durable, and what others wait meanwhile: the cost of a node must not grow with the nodes.
import { setTimeout } from 'node:timers/promises';
import { openPostgresStore } from '../../src/journal/runtime.ts';
import { below, noGoal, type Benchmark, type Figure, type Skipped } from '../benchmark.ts';
import { privatePostgres } from '../postgres.ts';
import type { BenchScope } from '../scope.ts';
import { clientTokenId, seededSecret, seedFolder, seedStore } from '../seeded-store.ts';
import { cpuSeconds, peakRssBytes, startServer } from '../server-process.ts';
import { nodeSpec } from './sample-nodes.ts';

/** As many as a call takes. */
const NODES = 100_000;
const LIMIT_S = 15;
const SIZES = [100, 1_000, 10_000];
/** The lease is renewed every second: nothing may wait so long that a renewal comes late. */
const WAIT_MAX_MS = 250;
const PROBE_EVERY_MS = 5;

const AUTHORIZED = {
  authorization: `Bearer ${seededSecret(clientTokenId(0))}`,
  'content-type': 'application/x-ndjson',
};

export const enrolBenchmark: Benchmark = {
  name: 'baremetal-enrol',
  about: `POST /nodes/bulk of up to ${NODES} nodes, durable on SQLite, and the wait of others meanwhile`,
  seconds: 60,
  run: measure,
};

async function measure(scope: BenchScope): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const nodes of SIZES) {
    const { ms } = await enrolAnew(scope, nodes);
    figures.push({
      ...{ name: `baremetal-enrol-${nodes}`, value: (ms * 1000) / nodes, unit: 'us/node' },
      ...{ peer: `limit: ${(LIMIT_S * 1e6) / NODES} us`, ...noGoal((ms * NODES) / nodes / (LIMIT_S * 1000)) },
    });
  }
  const { ms, cpuS, repeatedMs, waitMs, megabytes } = await enrolAnew(scope, NODES);
  const name = `baremetal-enrol-${NODES}`;
  const peer = `limit: ${LIMIT_S} s`;
  return [
    ...figures,
    { name, value: ms / 1000, unit: 's', peer, ...below(1, ms / 1000 / LIMIT_S) },
    // What it would take on a machine with nothing else to do.
    { name: `${name}-cpu`, value: cpuS, unit: 's', peer, ...noGoal(cpuS / LIMIT_S) },
    { name: `${name}-again`, value: repeatedMs / 1000, unit: 's', peer, ...noGoal(repeatedMs / 1000 / LIMIT_S) },
    {
      ...{ name: `${name}-wait`, value: waitMs, unit: 'ms', peer: `limit: ${WAIT_MAX_MS} ms` },
      ...below(1, waitMs / WAIT_MAX_MS),
    },
    { name: `${name}-memory`, value: megabytes, unit: 'MB', peer: 'peak of the server', ...noGoal(1) },
  ];
}

export const forwardedEnrolBenchmark: Benchmark = {
  name: 'baremetal-enrol-forwarded',
  about: `${NODES} nodes in one call to a server that forwards it to the one that decides, on PostgreSQL`,
  seconds: 40,
  run: measureForwarded,
};

async function measureForwarded(scope: BenchScope): Promise<readonly Figure[] | Skipped> {
  const postgres = await privatePostgres(scope);
  if (postgres.kind === 'missing') return { skipped: postgres.reason };
  const store = await openPostgresStore({ connectionString: postgres.url });
  scope.onClose(() => store.close());
  await seedStore(store, { hosts: 0, clients: 1 });
  const shared = { store: postgres.url, keys: await scope.tempDir() };
  await startServer(scope, { data: await scope.tempDir(), ...shared });
  const follower = await startServer(scope, { data: await scope.tempDir(), ...shared });
  scope.check();
  const value = (await enrol(follower.url, linesOf(NODES), { created: NODES })) / 1000;
  const peer = `limit: ${LIMIT_S} s`;
  return [{ name: `baremetal-enrol-forwarded-${NODES}`, value, unit: 's', peer, ...below(1, value / LIMIT_S) }];
}

interface Enrolled {
  readonly ms: number;
  /** Of the server. */
  readonly cpuS: number;
  /** All of it again: nothing is left to do. */
  readonly repeatedMs: number;
  /** The longest that another caller waited for an answer. */
  readonly waitMs: number;
  readonly megabytes: number;
}

/** On a server without nodes. */
async function enrolAnew(scope: BenchScope, nodes: number): Promise<Enrolled> {
  scope.check();
  const data = await scope.tempDir();
  await seedFolder(data, { hosts: 0, clients: 1 });
  const { url, pid, kill } = await startServer(scope, { data });
  const body = linesOf(nodes);
  const over = new AbortController();
  const waited = probe(url, over.signal);
  const before = await cpuSeconds(pid);
  const ms = await enrol(url, body, { created: nodes });
  const cpuS = (await cpuSeconds(pid)) - before;
  over.abort();
  const waitMs = await waited;
  const repeatedMs = await enrol(url, body, { unchanged: nodes });
  const megabytes = (await peakRssBytes(pid)) / 1e6;
  await kill('SIGTERM');
  return { ms, cpuS, repeatedMs, waitMs, megabytes };
}

function linesOf(nodes: number): string {
  return Array.from({ length: nodes }, (_, nth) => `${JSON.stringify(nodeSpec(nth))}\n`).join('');
}

async function enrol(url: string, body: string, expected: object): Promise<number> {
  const startedMs = performance.now();
  const answer = await fetch(`${url}/api/v1/nodes/bulk`, { method: 'POST', body, headers: AUTHORIZED });
  const counts = (await answer.json()) as object;
  const isRight = Object.entries(expected).every(([field, count]) => Reflect.get(counts, field) === count);
  if (!isRight) throw new Error(`the server answered ${JSON.stringify(counts)}`);
  return performance.now() - startedMs;
}

async function probe(url: string, over: AbortSignal): Promise<number> {
  let longestMs = 0;
  while (!over.aborted) {
    const startedMs = performance.now();
    await (await fetch(`${url}/livez`)).text();
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    await setTimeout(PROBE_EVERY_MS);
  }
  return longestMs;
}
