// Reservations over HTTP: a real server with its controllers, and clients that request one node after the other; what a round reserved is released before the
// next. The peer is the lower of two: what callers inside a process reach on the same fleet, and a bare Fastify POST of the same body that keeps nothing.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { LoadResult } from '../../api/load-client.ts';
import { startLoader, type Loader } from '../../api/loader.ts';
import { atLeast, below, noGoal, type Benchmark, type Figure } from '../../benchmark.ts';
import { onSqliteFile, seededFiles } from '../../commits/stores.ts';
import { median, runPaired, summarisePairs } from '../../rounds.ts';
import type { BenchScope } from '../../scope.ts';
import { startNode, threadsCpuUs, type ServerProcess } from '../../server-process.ts';
import { reservationBody, reservationFleet } from './fleet.ts';
import { demandReserved, releaseBurst, reserveBurst } from './load.ts';
import { BODIES, clientSecrets, PATH, startReservationServer } from './server.ts';

const GOAL = 0.6;
const CLIENTS = 64;
const NODES = 10_000;
const ROUNDS = 7;
const PER_ROUND = 5000;

/** Each round has numbers of its own. */
class Rounds {
  #first = 0;
  readonly #load: Loader;
  readonly #port: number;
  readonly #secrets: readonly string[];

  constructor(load: Loader, server: ServerProcess, secrets: readonly string[]) {
    this.#load = load;
    this.#port = Number(new URL(server.url).port);
    this.#secrets = secrets;
  }

  async reserve(count: number): Promise<LoadResult> {
    const requests = { method: 'POST', path: PATH, bodies: BODIES, first: this.#first, count } as const;
    return this.#load({ ...this.#job(), requests });
  }

  /** What was reserved last. */
  async release(count: number): Promise<void> {
    const requests = { method: 'DELETE', path: `${PATH}/bench-{n}`, bodies: [], first: this.#first, count } as const;
    await this.#load({ ...this.#job(), requests });
    this.#first += count;
  }

  #job() {
    return { port: this.#port, method: 'POST', hosts: [], secrets: this.#secrets, forMs: 0 } as const;
  }
}

/** A server that answers to the request what Muster answered to one. */
async function bareServer(scope: BenchScope, ours: ServerProcess, secret: string): Promise<ServerProcess> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const body = JSON.stringify(reservationBody('bench-sample', 0));
  const answer = await fetch(`${ours.url}${PATH}`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(`the server answered ${await answer.text()}`);
  const file = join(await scope.tempDir(), 'answer.json');
  await writeFile(file, await answer.text());
  const program = resolve(import.meta.dirname, '../../api/bare-server.ts');
  return startNode(scope, (port) => [program, `${port}`, file]);
}

async function runHttp(scope: BenchScope): Promise<Figure[]> {
  const secrets = clientSecrets(CLIENTS);
  const ours = await startReservationServer(scope, { nodes: NODES, clients: CLIENTS });
  const bare = await bareServer(scope, ours, secrets[0] ?? '');
  const local = await onSqliteFile(scope, (await seededFiles(scope, reservationFleet({ nodes: NODES }))).ours);
  const load = startLoader(scope);
  const [mine, theirs] = [new Rounds(load, ours, secrets), new Rounds(load, bare, secrets)];
  const cpus: (readonly [ours: number, bare: number])[] = [];
  const peers: { readonly bare: number; readonly local: number }[] = [];
  const { ours: rate, ratio } = await runPaired(scope, ROUNDS, async (round) => {
    const [oursUs, { perSecond }] = await withCpu(ours, () => mine.reserve(PER_ROUND));
    const [bareUs, { perSecond: bareRate }] = await withCpu(bare, () => theirs.reserve(PER_ROUND));
    const burst = await reserveBurst(local.journal, {
      callers: CLIENTS,
      count: PER_ROUND,
    });
    demandReserved(await local.takeWritten(), PER_ROUND);
    const localRate = (PER_ROUND * 1000) / burst.ms;
    await mine.release(PER_ROUND);
    await releaseBurst(local.journal, { callers: CLIENTS, instances: burst.instances });
    await local.takeWritten();
    if (round > 0) peers.push({ bare: bareRate, local: localRate });
    if (round > 0) cpus.push([oursUs / PER_ROUND, bareUs / PER_ROUND]);
    return [perSecond, Math.min(bareRate, localRate)];
  });
  const [bareRate, localRate] = [median(peers.map((one) => one.bare)), median(peers.map((one) => one.local))];
  const peer = `bare Fastify POST: ${Math.round(bareRate)}/s, in the process: ${Math.round(localRate)}/s`;
  const cpu = summarisePairs(cpus);
  return [
    {
      name: 'baremetal-reserve-http',
      value: rate,
      unit: 'reservations/s',
      peer,
      ...atLeast(GOAL, ratio),
    },
    {
      ...{
        name: 'baremetal-reserve-http-cpu',
        value: cpu.ours,
        unit: 'us/reservation',
      },
      peer: `bare Fastify POST: ${cpu.peers.toFixed(0)} us; all threads of the servers`,
      ...noGoal(1 / cpu.ratio),
    },
  ];
}

/** And what it cost the server, in microseconds of all its threads. */
async function withCpu<T>({ pid }: ServerProcess, work: () => Promise<T>): Promise<readonly [us: number, T]> {
  const before = await threadsCpuUs(pid);
  const done = await work();
  return [(await threadsCpuUs(pid)) - before, done];
}

export const httpReservations: Benchmark = {
  name: 'baremetal-reserve-http',
  about:
    `POST ${PATH} on ${CLIENTS} connections, ${NODES} free nodes, on SQLite, beside the lower of the rate in a process ` +
    'and a bare Fastify POST of the same body',
  seconds: 30,
  run: runHttp,
};

const PARALLEL = 200;
const LARGE = 100_000;
const P99_MS = 100;
/** As a fleet of tens of thousands of clients would, but from a few: each of them sends the next request when it has its answer. */
const PARALLEL_ROUNDS = 5;
const PARALLEL_PER_ROUND = 6000;

async function runParallel(scope: BenchScope): Promise<Figure[]> {
  const secrets = clientSecrets(PARALLEL);
  const server = await startReservationServer(scope, { nodes: LARGE, clients: PARALLEL });
  const rounds = new Rounds(startLoader(scope), server, secrets);
  const results: LoadResult[] = [];
  for (let round = 0; round <= PARALLEL_ROUNDS; round += 1) {
    const result = await rounds.reserve(PARALLEL_PER_ROUND);
    await demandDistinct(server, secrets[0] ?? '', PARALLEL_PER_ROUND);
    await rounds.release(PARALLEL_PER_ROUND);
    if (round > 0) results.push(result);
  }
  const value = median(results.map(({ p99Ms }) => p99Ms));
  const rate = Math.round(median(results.map(({ perSecond }) => perSecond)));
  const p50 = median(results.map(({ p50Ms }) => p50Ms)).toFixed(1);
  const peer = `limit: ${P99_MS} ms; p50 ${p50} ms, ${rate} reservations/s`;
  const name = `baremetal-reserve-parallel-${PARALLEL}`;
  return [{ name, value, unit: 'ms', peer, ...below(1, value / P99_MS) }];
}

/** As many nodes are reserved as there are reservations: no node twice. */
async function demandDistinct({ url }: ServerProcess, secret: string, count: number): Promise<void> {
  const answer = await fetch(`${url}/api/v1/capacity`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  const { buckets } = (await answer.json()) as {
    readonly buckets: { readonly reserved: number };
  };
  if (buckets.reserved !== count) throw new Error(`${buckets.reserved} nodes are reserved by ${count} reservations`);
}

export const parallelReservations: Benchmark = {
  name: `baremetal-reserve-parallel-${PARALLEL}`,
  about: `POST ${PATH} on ${PARALLEL} connections at once, ${LARGE} free nodes, on SQLite: the 99th percentile of the answers`,
  seconds: 40,
  run: runParallel,
};
