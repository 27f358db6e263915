// Whether a busy holder keeps the lease: ten thousand agents heartbeat at the server that decides, callers write and read
// without a pause, and a second server waits to take over. Counted is how often the epoch grew.
import { openPostgresStore } from '../src/journal/runtime.ts';
import { DECIDING_LEASE } from '../src/operations/runtime.ts';
import { AGENTS, makeKeys, startAgents, tooFewFiles } from './agents/benchmarks.ts';
import { startLoader } from './api/loader.ts';
import type { Benchmark, Figure, Skipped } from './benchmark.ts';
import { privatePostgres } from './postgres.ts';
import { sampleHostId } from './sample-hosts.ts';
import type { BenchScope } from './scope.ts';
import { clientTokenId, seededSecret, seedStore } from './seeded-store.ts';
import { startServer } from './server-process.ts';

const CALLERS = 32;
const BUSY_MS = 10_000;

async function run(scope: BenchScope): Promise<readonly Figure[] | Skipped> {
  const missing = await tooFewFiles();
  if (missing !== undefined) return { skipped: missing };
  const postgres = await privatePostgres(scope);
  if (postgres.kind === 'missing') return { skipped: postgres.reason };
  const store = await openPostgresStore({ connectionString: postgres.url });
  scope.onClose(() => store.close());
  await seedStore(store, { hosts: AGENTS, agents: true, clients: CALLERS });
  const shared = { store: postgres.url, keys: await scope.tempDir() };
  const trust = makeKeys(shared.keys, store.journalId);
  const holder = await startServer(scope, { data: await scope.tempDir(), ...shared });
  await startServer(scope, { data: await scope.tempDir(), ...shared });
  const epoch = async (): Promise<number> => (await store.readLease(DECIDING_LEASE))?.epoch ?? 0;
  const before = await epoch();
  await startAgents(scope, holder, trust);
  const load = startLoader(scope);
  const hosts = Array.from({ length: 1000 }, (_, nth) => sampleHostId(nth));
  const secrets = Array.from({ length: CALLERS }, (_, nth) => seededSecret(clientTokenId(nth)));
  const port = Number(new URL(holder.url).port);
  let answers = 0;
  for (const method of ['PATCH', 'GET'] as const) {
    scope.check();
    answers += (await load({ port, method, hosts, secrets, forMs: BUSY_MS, pauseMs: 0 })).perSecond;
  }
  const lost = (await epoch()) - before;
  const peer = `${AGENTS} agents join, then ${CALLERS} callers: ${Math.round(answers / 2)} answers/s`;
  return [
    { name: 'failover-lease-kept', value: lost, unit: 'times lost', peer, ratio: lost, goal: '0', met: lost === 0 },
  ];
}

export const leaseKeptBenchmark: Benchmark = {
  name: 'failover-lease-kept',
  about: `${AGENTS} agents and busy callers at the server that decides, beside one that waits: how often the lease is lost`,
  seconds: 60,
  run,
};
