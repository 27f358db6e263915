// The API beside a bare Fastify route that answers the same bytes. Both servers are processes of their own, and a third one
// sends both requests in turns: authentication, validation, the view, metrics and (for PATCH) the durable commit are the difference.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { atLeast, noGoal, type Benchmark, type Figure } from '../benchmark.ts';
import { summarisePairs, runPaired } from '../rounds.ts';
import { sampleHostId } from '../sample-hosts.ts';
import type { BenchScope } from '../scope.ts';
import { clientTokenId, seededSecret, seedFolder } from '../seeded-store.ts';
import { cpuSeconds, startNode, startServer, type ServerProcess } from '../server-process.ts';
import type { LoadJob } from './load-client.ts';
import { startLoader } from './loader.ts';

const GOAL = 0.6;
const ROUNDS = 9;
const ROUND_MS = 1500;
const CONNECTIONS = 64;
const HOSTS = 1000;
const SECONDS = Math.ceil(((ROUNDS + 1) * 2 * ROUND_MS) / 1000) + 6;

const hosts = Array.from({ length: HOSTS }, (_, nth) => sampleHostId(nth));
const secrets = Array.from({ length: CONNECTIONS }, (_, nth) => seededSecret(clientTokenId(nth)));

async function compare(scope: BenchScope, methods: readonly [ours: LoadJob['method'], peers: LoadJob['method']]) {
  const data = await scope.tempDir();
  await seedFolder(data, { hosts: HOSTS, clients: CONNECTIONS });
  const server = await startServer(scope, { data });
  const answer = await fetch(`${server.url}/api/v1/hosts/${sampleHostId(0)}`, {
    headers: { authorization: `Bearer ${secrets[0]}` },
  });
  const file = join(data, 'answer.json');
  await writeFile(file, await answer.text());
  const bare = await startNode(scope, (port) => [resolve(import.meta.dirname, 'bare-server.ts'), `${port}`, file]);
  const load = startLoader(scope);
  const cpu: (readonly [ours: number, peers: number])[] = [];
  const ask = async ({ url, pid }: ServerProcess, method: LoadJob['method']) => {
    const before = await cpuSeconds(pid);
    const { requests, perSecond } = await load({ port: portOf(url), method, hosts, secrets, forMs: ROUND_MS });
    return { perSecond, cpuUs: (((await cpuSeconds(pid)) - before) * 1e6) / requests };
  };
  const rate = await runPaired(scope, ROUNDS, async (round) => {
    const [ours, peers] = [await ask(server, methods[0]), await ask(bare, methods[1])];
    if (round > 0) cpu.push([ours.cpuUs, peers.cpuUs]);
    return [ours.perSecond, peers.perSecond];
  });
  return { rate, cpu: summarisePairs(cpu) };
}

const portOf = (url: string): number => Number(new URL(url).port);

/** Requests per second are what the machine made of it with the client beside them; processor time is the server's alone. */
async function figures(
  scope: BenchScope,
  name: string,
  { methods, bareName, goal }: { methods: Parameters<typeof compare>[1]; bareName: string; goal: typeof noGoal },
): Promise<Figure[]> {
  const { rate, cpu } = await compare(scope, methods);
  const peer = `${bareName}: ${Math.round(rate.peers)} requests/s`;
  const cpuPeer = `${bareName}: ${cpu.peers.toFixed(1)} us/request`;
  return [
    { name, value: rate.ours, unit: 'requests/s', peer, ...goal(rate.ratio) },
    { name: `${name}-cpu`, value: cpu.ours, unit: 'us/request', peer: cpuPeer, ...goal(1 / cpu.ratio) },
  ];
}

const get: Benchmark = {
  name: 'api-get',
  about: 'GET /api/v1/hosts/{id} on 64 connections, beside a bare Fastify route that answers the same bytes',
  seconds: SECONDS,
  run: (scope) =>
    figures(scope, 'api-get', {
      methods: ['GET', 'GET'],
      bareName: 'bare Fastify',
      goal: (ratio) => atLeast(GOAL, ratio),
    }),
};

const patch: Benchmark = {
  name: 'api-patch',
  about: 'a durable PATCH of a host on 64 connections, beside a bare Fastify POST of the same body that keeps nothing',
  seconds: SECONDS,
  run: (scope) =>
    figures(scope, 'api-patch', { methods: ['PATCH', 'POST'], bareName: 'bare Fastify POST', goal: noGoal }),
};

export const apiBenchmarks: readonly Benchmark[] = [get, patch];
