// The whole way of an instance on bare metal: requested over HTTP, reserved, deployed and active, then deleted and its node clean again. A real server, three manager
// programs of their own and simulated machines that take no time, with two numbers of nodes: what an instance costs must not grow with them.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { SETTING } from '../../src/fleet/index.ts';
import { SIMULATED_INVENTORY } from '../../src/baremetal/drivers/simulated/settings.ts';
import { FLAVOR, type Flavor } from '../../src/instances/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import type { TextChange } from '../../src/journal/index.ts';
import { startLoader, type Loader } from '../api/loader.ts';
import { below, noGoal, type Benchmark, type Figure } from '../benchmark.ts';
import { median } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import {
  clientTokenId,
  clientTokens,
  DATABASE_FILE,
  managerToken,
  managerTokenId,
  seededSecret,
  writeSeed,
} from '../seeded-store.ts';
import { spawnNode, startServer, threadsCpuUs, type ServerProcess } from '../server-process.ts';
import { CLASSES, seedNodes } from './sample-nodes.ts';

const SIZES = [1_000, 100_000];
const MANAGERS = ['m1', 'm2', 'm3'];
const CLIENTS = 16;
const ROUNDS = 3;
const PER_ROUND = 300;
const GROWTH_GOAL = 2;
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 50;

const PATH = '/api/v1/instances';
const ENTRY = resolve(import.meta.dirname, '../../src/main/main.ts');
const CHANGED = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };
const AT_ONCE = {
  claims: 'inline',
  checksEpochs: true,
  deployMs: 0,
  cleanMs: 0,
  powerMs: 0,
};

const flavorName = (sort: number): string => `metal-${sort}`;

function flavor(sort: number): Flavor {
  return {
    name: flavorName(sort),
    ...{ vcpus: 8, memoryMiB: 32_768, diskGiB: 100 },
    ...{ requiredTraits: [], forbiddenTraits: [] },
    bareMetal: {
      extraSpecs: { [`resources:CUSTOM_BAREMETAL_CLASS_${sort}`]: '1' },
    },
    ...CHANGED,
  };
}

function* metalFleet(nodes: number): Generator<TextChange> {
  yield {
    kind: SETTING.name,
    id: SIMULATED_INVENTORY.name,
    body: JSON.stringify({ value: AT_ONCE, ...CHANGED }),
  };
  for (let sort = 0; sort < CLASSES; sort += 1)
    yield {
      kind: FLAVOR.name,
      id: flavorName(sort),
      body: JSON.stringify(flavor(sort)),
    };
  yield* clientTokens(CLIENTS);
  for (const name of MANAGERS) yield managerToken(name);
  yield* seedNodes(nodes);
}

const BODIES = Array.from({ length: CLASSES }, (_, sort) =>
  JSON.stringify({
    name: 'bench-{n}',
    flavor: flavorName(sort),
    image: 'debian-13',
    networks: [],
  }),
);

/** By what was done, one for each round. */
interface Costs {
  readonly buildUs: number[];
  readonly perSecond: number[];
  readonly deletionUs: number[];
}

interface Plane {
  readonly server: ServerProcess;
  readonly costs: Costs;
}

async function startPlane(scope: BenchScope, nodes: number): Promise<Plane> {
  const data = await scope.tempDir();
  const store = await openSqliteStore({ path: join(data, DATABASE_FILE) });
  await writeSeed(store, metalFleet(nodes));
  await store.close();
  const server = await startServer(scope, { data });
  for (const name of MANAGERS) {
    const file = join(data, `token-${name}`);
    await writeFile(file, seededSecret(managerTokenId(name)), { mode: 0o600 });
    const args = ['manager', '--name', name, '--server', server.url, '--token-file', file, '--log-level', 'error'];
    spawnNode(scope, [ENTRY, ...args]);
  }
  await until(
    scope,
    'the managers are live',
    async () => (await count(server, '/api/v1/managers')) === MANAGERS.length,
  );
  return { server, costs: { buildUs: [], perSecond: [], deletionUs: [] } };
}

async function runRound(scope: BenchScope, load: Loader, { server, costs }: Plane, round: number): Promise<void> {
  const secrets = Array.from({ length: CLIENTS }, (_, nth) => seededSecret(clientTokenId(nth)));
  const job = {
    port: Number(new URL(server.url).port),
    method: 'POST',
    hosts: [],
    secrets,
    forMs: 0,
  } as const;
  const numbers = { first: round * PER_ROUND, count: PER_ROUND };
  const before = await threadsCpuUs(server.pid);
  const startedMs = performance.now();
  await load({
    ...job,
    requests: { ...numbers, method: 'POST', path: PATH, bodies: BODIES },
  });
  await until(scope, 'all instances are active', async () => (await activeNodes(server)) === PER_ROUND);
  const builtMs = performance.now() - startedMs;
  const built = await threadsCpuUs(server.pid);
  await load({
    ...job,
    requests: {
      ...numbers,
      method: 'DELETE',
      path: `${PATH}/bench-{n}`,
      bodies: [],
    },
  });
  await until(scope, 'all nodes are clean', async () => (await usedNodes(server)) === 0);
  const deleted = await threadsCpuUs(server.pid);
  if (round === 0) return; // it compiles
  costs.buildUs.push((built - before) / PER_ROUND);
  costs.perSecond.push((PER_ROUND * 1000) / builtMs);
  costs.deletionUs.push((deleted - built) / PER_ROUND);
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const planes: Plane[] = [];
  for (const nodes of SIZES) planes.push(await startPlane(scope, nodes));
  const load = startLoader(scope);
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const plane of planes) await runRound(scope, load, plane, round);
  const [small, large] = planes.map(({ costs }) => costs) as [Costs, Costs];
  return [
    growth('baremetal-builds-cpu', small.buildUs, large.buildUs),
    growth('baremetal-builds-deletion-cpu', small.deletionUs, large.deletionUs),
    {
      ...{
        name: 'baremetal-builds',
        value: median(large.perSecond),
        unit: 'instances/s',
      },
      peer: `10^3 nodes: ${median(small.perSecond).toFixed(0)}/s, from the first request to the last that is active`,
      ...noGoal(median(large.perSecond) / median(small.perSecond)),
    },
  ];
}

function growth(name: string, small: readonly number[], large: readonly number[]): Figure {
  const peer = `10^3 nodes: ${median(small).toFixed(0)} us`;
  const ratio = median(large.map((cost, round) => cost / (small[round] ?? NaN)));
  return {
    name,
    value: median(large),
    unit: 'us/instance',
    peer,
    ...below(GROWTH_GOAL, ratio),
  };
}

async function read(server: ServerProcess, path: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${seededSecret(clientTokenId(0))}` };
  return (await fetch(`${server.url}${path}`, { headers })).json();
}

async function count(server: ServerProcess, path: string): Promise<number> {
  return ((await read(server, path)) as { readonly items: readonly unknown[] }).items.length;
}

type Buckets = Readonly<Record<'free' | 'reserved' | 'deploying' | 'active' | 'cleaning' | 'unavailable', number>>;

async function bucketsOf(server: ServerProcess): Promise<Buckets> {
  return ((await read(server, '/api/v1/capacity')) as { readonly buckets: Buckets }).buckets;
}

async function activeNodes(server: ServerProcess): Promise<number> {
  return (await bucketsOf(server)).active;
}

async function usedNodes(server: ServerProcess): Promise<number> {
  const { reserved, deploying, active, cleaning, unavailable } = await bucketsOf(server);
  return reserved + deploying + active + cleaning + unavailable;
}

async function until(scope: BenchScope, what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    scope.check();
    if (performance.now() > deadlineMs) throw new Error(`not in time: ${what}`);
    await setTimeout(LOOK_EVERY_MS);
  }
}

export const builds: Benchmark = {
  name: 'baremetal-builds',
  about:
    `${PER_ROUND} instances from request to active, and deleted again, with ${MANAGERS.length} manager programs and simulated machines, ` +
    `at ${SIZES.join(' and ')} nodes: processor time of the server for each, and how many a second`,
  seconds: 60,
  run,
};
