// Enrolling machines in one call to a real server, durable, and what others wait meanwhile: the cost of a node must not grow with the nodes.
import { setTimeout } from 'node:timers/promises';
import { below, noGoal, type Benchmark, type Figure } from '../benchmark.ts';
import type { Scope } from '../scope.ts';
import { clientTokenId, seededSecret, seedFolder } from '../seeded-store.ts';
import { peakRssBytes, startServer } from '../server-process.ts';
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

async function measure(scope: Scope): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const nodes of SIZES) {
    const { ms } = await enrolAnew(scope, nodes);
    figures.push({
      ...{ name: `baremetal-enrol-${nodes}`, value: (ms * 1000) / nodes, unit: 'us/node' },
      ...{ peer: `limit: ${(LIMIT_S * 1e6) / NODES} us`, ...noGoal((ms * NODES) / nodes / (LIMIT_S * 1000)) },
    });
  }
  const { ms, repeatedMs, waitMs, megabytes } = await enrolAnew(scope, NODES);
  const name = `baremetal-enrol-${NODES}`;
  const peer = `limit: ${LIMIT_S} s`;
  return [
    ...figures,
    { name, value: ms / 1000, unit: 's', peer, ...below(1, ms / 1000 / LIMIT_S) },
    { name: `${name}-again`, value: repeatedMs / 1000, unit: 's', peer, ...noGoal(repeatedMs / 1000 / LIMIT_S) },
    {
      ...{ name: `${name}-wait`, value: waitMs, unit: 'ms', peer: `limit: ${WAIT_MAX_MS} ms` },
      ...below(1, waitMs / WAIT_MAX_MS),
    },
    { name: `${name}-memory`, value: megabytes, unit: 'MB', peer: 'peak of the server', ...noGoal(1) },
  ];
}

interface Enrolled {
  readonly ms: number;
  /** All of it again: nothing is left to do. */
  readonly repeatedMs: number;
  /** The longest that somebody else waited for an answer. */
  readonly waitMs: number;
  readonly megabytes: number;
}

/** On a server without nodes. */
async function enrolAnew(scope: Scope, nodes: number): Promise<Enrolled> {
  scope.check();
  const data = await scope.tempDir();
  await seedFolder(data, { hosts: 0, clients: 1 });
  const { url, pid, kill } = await startServer(scope, { data });
  const body = Array.from({ length: nodes }, (_, nth) => `${JSON.stringify(nodeSpec(nth))}\n`).join('');
  const enrol = async (expected: object): Promise<number> => {
    const startedMs = performance.now();
    const answer = await fetch(`${url}/api/v1/nodes/bulk`, { method: 'POST', body, headers: AUTHORIZED });
    const counts = (await answer.json()) as object;
    const isRight = Object.entries(expected).every(([field, count]) => Reflect.get(counts, field) === count);
    if (!isRight) throw new Error(`the server answered ${JSON.stringify(counts)}`);
    return performance.now() - startedMs;
  };
  const over = new AbortController();
  const waited = probe(url, over.signal);
  const ms = await enrol({ created: nodes });
  over.abort();
  const waitMs = await waited;
  const repeatedMs = await enrol({ unchanged: nodes });
  const megabytes = (await peakRssBytes(pid)) / 1e6;
  await kill('SIGTERM');
  return { ms, repeatedMs, waitMs, megabytes };
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
