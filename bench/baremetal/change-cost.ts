// What one change costs a real server, in processor time of all its threads, with fleets of three sizes: the cost of a change must follow the change, never the
// fleet. The servers get their requests in turns, so that other load of the machine affects all of them alike.
import { startLoader, type Loader } from '../api/loader.ts';
import type { LoadJob, NumberedRequests } from '../api/load-client.ts';
import { below, type Benchmark, type Figure } from '../benchmark.ts';
import { median } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { managerTokenId, seededSecret } from '../seeded-store.ts';
import { threadsCpuUs, type ServerProcess } from '../server-process.ts';
import { MANAGER_NAME, MANAGER_TOKENS } from './reservations/fleet.ts';
import { BODIES, clientSecrets, HOLDER, PATH, startReservationServer } from './reservations/server.ts';

const SIZES = [1_000, 10_000, 100_000];
const GROWTH_GOAL = 2;
const CLIENTS = 8;
const ROUNDS = 9;
/** Less than the free nodes of the smallest fleet. */
const PER_ROUND = 300;

const KINDS = ['reservation', 'release', 'renewal', 'capacity', 'managers'] as const;
type Kind = (typeof KINDS)[number];

interface MeasuredServer {
  readonly server: ServerProcess;
  readonly leaseEpoch: number;
  /** By kind, one for each round. */
  readonly costs: Record<Kind, number[]>;
}

function requestsOf(kind: Kind, round: number, leaseEpoch: number): NumberedRequests {
  const numbers = { first: round * PER_ROUND, count: PER_ROUND };
  const none: readonly string[] = [];
  switch (kind) {
    case 'reservation':
      return { ...numbers, method: 'POST', path: PATH, bodies: BODIES };
    case 'release':
      return { ...numbers, method: 'DELETE', path: `${PATH}/bench-{n}`, bodies: none };
    case 'renewal': {
      const bodies = [JSON.stringify({ holder: HOLDER, leaseEpoch })];
      return { ...numbers, method: 'POST', path: `/api/v1/managers/${MANAGER_NAME}/renew`, bodies };
    }
    case 'capacity':
      return { ...numbers, method: 'GET', path: '/api/v1/capacity', bodies: none };
    case 'managers':
      return { ...numbers, method: 'GET', path: '/api/v1/managers', bodies: none };
  }
}

const secretsOf = (kind: Kind): string[] =>
  kind === 'renewal'
    ? Array.from({ length: MANAGER_TOKENS }, (_, nth) => seededSecret(managerTokenId(MANAGER_NAME, nth)))
    : clientSecrets(CLIENTS);

async function costOf(
  load: Loader,
  { server, leaseEpoch }: MeasuredServer,
  kind: Kind,
  round: number,
): Promise<number> {
  const port = Number(new URL(server.url).port);
  const requests = requestsOf(kind, round, leaseEpoch);
  const job: LoadJob = { port, method: 'POST', hosts: [], secrets: secretsOf(kind), forMs: 0, requests };
  const before = await threadsCpuUs(server.pid);
  await load(job);
  return ((await threadsCpuUs(server.pid)) - before) / PER_ROUND;
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const servers: MeasuredServer[] = [];
  for (const nodes of SIZES) {
    const server = await startReservationServer(scope, { nodes, clients: CLIENTS, use: 'half in use' });
    const costs = { reservation: [], release: [], renewal: [], capacity: [], managers: [] };
    servers.push({ server, leaseEpoch: server.leaseEpoch, costs });
  }
  const load = startLoader(scope);
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const kind of KINDS) {
      for (const one of servers) {
        const cost = await costOf(load, one, kind, round);
        if (round > 0) one.costs[kind].push(cost);
      }
    }
  }
  return KINDS.map((kind) => figureOf(kind, servers));
}

function figureOf(kind: Kind, servers: readonly MeasuredServer[]): Figure {
  const [small, middle, large] = servers.map(({ costs }) => costs[kind]) as [number[], number[], number[]];
  const ratio = median(large.map((cost, round) => cost / (small[round] ?? NaN)));
  const [value, thousand, tenThousand] = [median(large), median(small), median(middle)];
  const peer = `10^3 nodes: ${thousand.toFixed(0)} us, 10^4: ${tenThousand.toFixed(0)} us`;
  return { name: `baremetal-change-${kind}`, value, unit: 'us', peer, ...below(GROWTH_GOAL, ratio) };
}

export const changeCost: Benchmark = {
  name: 'baremetal-change',
  about: `processor time of a server for a reservation, a release, a renewal, GET /capacity and GET /managers at ${SIZES.join(', ')} nodes, half of them in use`,
  seconds: 45,
  run,
};
