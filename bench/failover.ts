// Failover: three real servers on one PostgreSQL, each through a proxy of its own. The one that decides is killed, stopped,
// paused or cut off; a client continues to write to the other two until the first of its writes is accepted. Nothing is tuned.
import { setTimeout } from 'node:timers/promises';
import { openPostgresStore } from '../src/journal/runtime.ts';
import { DECIDING_LEASE } from '../src/operations/runtime.ts';
import { Proxy } from '../test/postgres/proxy.ts';
import { below, type Benchmark, type Figure, type Skipped } from './benchmark.ts';
import { privatePostgres } from './postgres.ts';
import { median } from './rounds.ts';
import { sampleHostId } from './sample-hosts.ts';
import type { BenchScope } from './scope.ts';
import { clientTokenId, seededSecret, seedStore } from './seeded-store.ts';
import { startServer, type ServerProcess } from './server-process.ts';

const SERVERS = 3;
const TRY_AGAIN_MS = 50;
const REQUEST_PATIENCE_MS = 2000;
const TIMEOUT_MS = 60_000;
const HOSTS = 100;

interface Member {
  readonly server: ServerProcess;
  readonly proxy: Proxy;
}

/** One way in which a server that decides goes away. */
interface FailureMode {
  readonly name: string;
  readonly about: string;
  readonly limitS: number;
  readonly rounds: number;
  readonly strike: (holder: Member) => void;
}

const FAILURE_MODES: readonly FailureMode[] = [
  {
    name: 'failover-kill',
    about: 'from kill -9 of the one that decides to the first accepted write',
    limitS: 1.5,
    rounds: 5,
    strike: ({ server }) => void server.kill('SIGKILL'),
  },
  {
    name: 'failover-stop',
    about: 'from SIGTERM to the one that decides to the first accepted write at another',
    limitS: 0.5,
    rounds: 5,
    strike: ({ server }) => void server.kill('SIGTERM'),
  },
  {
    name: 'failover-pause',
    about: 'from SIGSTOP of the one that decides to the first accepted write at another',
    limitS: 5,
    rounds: 4,
    strike: ({ server }) => void process.kill(server.pid, 'SIGSTOP'),
  },
  {
    name: 'failover-cut-off',
    about: 'from cutting the one that decides off from PostgreSQL to the first accepted write at another',
    limitS: 5,
    rounds: 4,
    strike: ({ proxy }) => proxy.freeze(),
  },
];

interface Shared {
  readonly url: string;
  readonly keys: string;
}

async function run(
  scope: BenchScope,
  { name, limitS, rounds, strike }: FailureMode,
): Promise<readonly Figure[] | Skipped> {
  const postgres = await privatePostgres(scope);
  if (postgres.kind === 'missing') return { skipped: postgres.reason };
  const store = await openPostgresStore({ connectionString: postgres.url });
  scope.onClose(() => store.close());
  await seedStore(store, { hosts: HOSTS, clients: 1 });
  const shared = { url: postgres.url, keys: await scope.tempDir() };
  // The first one makes the keys that all of them have.
  let members = [await startMember(scope, shared)];
  while (members.length < SERVERS) members.push(await startMember(scope, shared));
  const seconds: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    scope.check();
    const holderUrl = (await store.readLease(DECIDING_LEASE))?.url;
    const holder = members.find(({ server }) => server.url === holderUrl);
    if (holder === undefined) throw new Error('none of the servers holds the lease');
    const others = members.filter((member) => member !== holder);
    await untilAccepted(scope, others, round * 2); // whatever a first request costs is not part of it
    const struckMs = performance.now();
    strike(holder);
    await untilAccepted(scope, others, round * 2 + 1);
    seconds.push((performance.now() - struckMs) / 1000);
    await holder.server.kill('SIGKILL');
    members = round === rounds ? others : [...others, await startMember(scope, shared)];
  }
  const worst = Math.max(...seconds);
  const peer = `limit: ${limitS} s; worst of ${rounds} rounds ${worst.toFixed(2)} s`;
  return [{ name, value: median(seconds), unit: 's', peer, ...below(1, worst / limitS) }];
}

async function startMember(scope: BenchScope, { url, keys }: Shared): Promise<Member> {
  const proxy = new Proxy(Number(new URL(url).port));
  await proxy.start();
  scope.onClose(() => proxy.stop());
  const server = await startServer(scope, { data: await scope.tempDir(), store: proxy.through(url), keys });
  return { server, proxy };
}

/** Writes to the servers in turns until one of them accepts. */
async function untilAccepted(scope: BenchScope, members: readonly Member[], weight: number): Promise<void> {
  const deadlineMs = performance.now() + TIMEOUT_MS;
  for (let tries = 0; performance.now() < deadlineMs; tries += 1) {
    scope.check();
    if (await isAccepted(members[tries % members.length]!.server, weight)) return;
    await setTimeout(TRY_AGAIN_MS);
  }
  throw new Error('no server accepts a write');
}

async function isAccepted({ url }: ServerProcess, weight: number): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/api/v1/hosts/${sampleHostId(weight % HOSTS)}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${seededSecret(clientTokenId(0))}`,
        'content-type': 'application/json',
        connection: 'close',
      },
      body: JSON.stringify({ baseWeight: weight }),
      signal: AbortSignal.timeout(REQUEST_PATIENCE_MS),
    });
    const text = await answer.text();
    if (answer.status >= 400 && answer.status < 500) throw new Error(`the write is refused: ${text}`);
    return answer.ok;
  } catch (error) {
    if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError')) return false;
    throw error;
  }
}

export const failoverBenchmarks: readonly Benchmark[] = FAILURE_MODES.map((way) => ({
  name: way.name,
  about: `three servers on PostgreSQL: ${way.about}`,
  seconds: 50,
  run: (scope) => run(scope, way),
}));
