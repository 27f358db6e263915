// Ten thousand agents on one server: what their heartbeats cost it, and what its other callers notice. The server at rest
// is a second one beside it, with the same fleet and no agents: requests go to both in turns, so that what the
// agents' own process takes of the machine meets both alike.
import { on } from 'node:events';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import type { Trust } from '../../src/agent/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { KeyRing } from '../../src/main/key-ring.ts';
import { below, type Benchmark, type Figure } from '../benchmark.ts';
import { startLoader } from '../api/loader.ts';
import { runPaired } from '../rounds.ts';
import { sampleHostId } from '../sample-hosts.ts';
import type { BenchScope } from '../scope.ts';
import { clientTokenId, seededSecret, seedFolder } from '../seeded-store.ts';
import { cpuSeconds, spawnNode, startServer, type ServerProcess } from '../server-process.ts';

export const AGENTS = 10_000;
/** A process with all of them is slower than its own timeouts when the machine is busy. */
const AGENT_PROCESSES = 4;
const HEARTBEAT_MS = 10_000;
const SPREAD_MS = 14_000;
const WINDOW_MS = 12_000;
const CPU_LIMIT = 0.25;
const P99_LIMIT = 2;
const ROUNDS = 4;
const PROBE_MS = 1500;
const PROBES = { connections: 8, pauseMs: 20 };
/** Each agent holds a connection while it waits for its view. */
const FILES_NEEDED = AGENTS + 2000;
/** Far more than it takes on a machine with two free cores: beside other work the agents' own process is what is slow. */
const CONNECT_PATIENCE_MS = 100_000;

async function run(scope: BenchScope) {
  const missing = await tooFewFiles();
  if (missing !== undefined) return { skipped: missing };
  const { server, trust } = await serverWithFleet(scope);
  const { server: atRest } = await serverWithFleet(scope);
  await startAgents(scope, server, trust);
  const share = await cpuShare(scope, server);
  const load = startLoader(scope);
  const hosts = Array.from({ length: 1000 }, (_, nth) => sampleHostId(nth));
  const secrets = Array.from({ length: PROBES.connections }, (_, nth) => seededSecret(clientTokenId(nth)));
  const p99 = async ({ url }: ServerProcess): Promise<number> => {
    const { pauseMs } = PROBES;
    const job = { port: Number(new URL(url).port), method: 'GET', hosts, secrets, forMs: PROBE_MS, pauseMs } as const;
    return (await load(job)).p99Ms;
  };
  const { ours, peers, ratio } = await runPaired(scope, ROUNDS, async () => [await p99(server), await p99(atRest)]);
  const name = `agents-${AGENTS}`;
  const figures: Figure[] = [
    {
      name: `${name}-cpu`,
      value: share * 100,
      unit: '% of a core',
      peer: 'limit: 25 %',
      ...below(1, share / CPU_LIMIT),
    },
    {
      name: `${name}-p99`,
      value: ours,
      unit: 'ms',
      peer: `at rest: ${peers.toFixed(2)} ms`,
      ...below(P99_LIMIT, ratio),
    },
  ];
  return figures;
}

async function serverWithFleet(scope: BenchScope): Promise<{ readonly server: ServerProcess; readonly trust: Trust }> {
  const data = await scope.tempDir();
  const journalId = await seedFolder(data, { hosts: AGENTS, agents: true, clients: PROBES.connections });
  const trust = makeKeys(data, journalId);
  return { server: await startServer(scope, { data }), trust };
}

/** The keys of a control plane whose servers have not started yet, as an agent that joined has learnt them. */
export function makeKeys(folder: string, journalId: string): Trust {
  const log = pino({ level: 'silent' });
  const { serial, keys } = new KeyRing({ folder, clock: realClock, log, recorded: undefined }).signer();
  return { journalId, serial, keys: [...keys], servers: [] };
}

/** Resolves when every agent has the view of its host and has converged on it. */
export async function startAgents(scope: BenchScope, server: ServerProcess, trust: Trust): Promise<void> {
  const each = AGENTS / AGENT_PROCESSES;
  await Promise.all(
    Array.from({ length: AGENT_PROCESSES }, (_, nth) =>
      startSome(scope, server, { first: nth * each, count: each, trust }),
    ),
  );
}

async function startSome(
  scope: BenchScope,
  { url }: ServerProcess,
  { first, count, trust }: { readonly first: number; readonly count: number; readonly trust: Trust },
): Promise<void> {
  const program = resolve(import.meta.dirname, 'fleet-process.ts');
  const args = [url, JSON.stringify(trust), ...[first, count, HEARTBEAT_MS, SPREAD_MS].map(String)];
  const agents = spawnNode(scope, [program, ...args], 'ipc');
  const patience = AbortSignal.any([scope.signal, AbortSignal.timeout(CONNECT_PATIENCE_MS)]);
  let converged = 0;
  try {
    for await (const [message] of on(agents, 'message', { signal: patience }) as AsyncIterable<
      [{ converged: number }]
    >) {
      converged = message.converged;
      if (converged === count) return;
    }
  } catch (error) {
    scope.check();
    throw new Error(`only ${converged} of ${count} agents converged on their views in time`, { cause: error });
  }
}

async function cpuShare(scope: BenchScope, { pid }: ServerProcess): Promise<number> {
  const [startedMs, before] = [performance.now(), await cpuSeconds(pid)];
  await setTimeout(WINDOW_MS, undefined, { signal: scope.signal });
  return ((await cpuSeconds(pid)) - before) / ((performance.now() - startedMs) / 1000);
}

/** Undefined when this process may open enough files. */
export async function tooFewFiles(): Promise<string | undefined> {
  const files = await openFilesMax();
  return files < FILES_NEEDED ? `needs ${FILES_NEEDED} open files, this process may have ${files}` : undefined;
}

async function openFilesMax(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  return hard === 'unlimited' ? Infinity : Number(hard);
}

export const agentBenchmarks: readonly Benchmark[] = [
  {
    name: `agents-${AGENTS}`,
    about: `${AGENTS} agents heartbeating every 10 s over HTTP: the server's processor time, and p99 of a GET beside them`,
    seconds: 55,
    run,
  },
];
