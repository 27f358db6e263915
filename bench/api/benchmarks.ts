// The API beside a bare Fastify route that answers the same bytes. Both servers are processes of their own, and a third one
// asks them in turns: authentication, validation, the view, metrics and (for PATCH) the durable commit are the difference.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { atLeast, noGoal, type Benchmark, type Figure } from '../benchmark.ts';
import { inTurns } from '../rounds.ts';
import { sampleHostId } from '../sample-hosts.ts';
import type { Scope } from '../scope.ts';
import { clientTokenId, seededSecret, seedFolder } from '../seeded-store.ts';
import { startNode, startServer } from '../server-process.ts';
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

async function compare(scope: Scope, methods: readonly [ours: LoadJob['method'], peers: LoadJob['method']]) {
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
  const ask = async (url: string, method: LoadJob['method']): Promise<number> => {
    const result = await load({ port: Number(new URL(url).port), method, hosts, secrets, forMs: ROUND_MS });
    return result.perSecond;
  };
  return inTurns(scope, ROUNDS, async () => [await ask(server.url, methods[0]), await ask(bare.url, methods[1])]);
}

const get: Benchmark = {
  name: 'api-get',
  about: 'GET /api/v1/hosts/{id} on 64 connections, beside a bare Fastify route that answers the same bytes',
  seconds: SECONDS,
  run: async (scope): Promise<Figure[]> => {
    const { ours, peers, ratio } = await compare(scope, ['GET', 'GET']);
    const peer = `bare Fastify: ${Math.round(peers)} requests/s`;
    return [{ name: 'api-get', value: ours, unit: 'requests/s', peer, ...atLeast(GOAL, ratio) }];
  },
};

const patch: Benchmark = {
  name: 'api-patch',
  about: 'a durable PATCH of a host on 64 connections, beside a bare Fastify POST of the same body that keeps nothing',
  seconds: SECONDS,
  run: async (scope): Promise<Figure[]> => {
    const { ours, peers, ratio } = await compare(scope, ['PATCH', 'POST']);
    const peer = `bare Fastify POST: ${Math.round(peers)} requests/s`;
    return [{ name: 'api-patch', value: ours, unit: 'requests/s', peer, ...noGoal(ratio) }];
  },
};

export const apiBenchmarks: readonly Benchmark[] = [get, patch];
