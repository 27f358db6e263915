// Placements over HTTP: a real server with its controllers, and 64 clients that request one instance after the other. They are
// not built, since there are no agents: each waits at its host. The peer is the lower of two: what callers inside a process
// reach on the same fleet, and a bare Fastify POST of the same body that keeps nothing.
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import type { LoadJob } from '../api/load-client.ts';
import { startLoader } from '../api/loader.ts';
import { atLeast, type Benchmark, type Figure } from '../benchmark.ts';
import { runPaired, median } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { clientTokenId, DATABASE_FILE, seededSecret, writeSeed } from '../seeded-store.ts';
import { startNode, startServer, type ServerProcess } from '../server-process.ts';
import { placementFleet, REQUEST } from './fleet.ts';
import { recordedJournal, type Recorded } from '../commits/recorded.ts';
import { demandPlaced, runLoad } from './load.ts';

const GOAL = 0.6;
const CLIENTS = 64;
const HOSTS = 10_000;
const ROUNDS = 7;
const ROUND_MS = 1500;
const SECONDS = Math.ceil(((ROUNDS + 1) * 3 * ROUND_MS) / 1000) + 8;

const PATH = '/api/v1/instances';
const body = JSON.stringify(REQUEST);
const secrets = Array.from({ length: CLIENTS }, (_, nth) => seededSecret(clientTokenId(nth)));

async function seededFolder(scope: BenchScope): Promise<string> {
  const folder = await scope.tempDir();
  const store = await openSqliteStore({ path: join(folder, DATABASE_FILE) });
  await writeSeed(store, placementFleet(HOSTS, CLIENTS));
  await store.close();
  return folder;
}

async function inProcess(scope: BenchScope): Promise<Recorded> {
  const store = await openSqliteStore({ path: join(await seededFolder(scope), DATABASE_FILE) });
  scope.onClose(() => store.close());
  return recordedJournal(scope, store);
}

/** A server that answers to the request what Muster answered to one. */
async function bareServer(scope: BenchScope, ours: ServerProcess): Promise<ServerProcess> {
  const headers = { authorization: `Bearer ${secrets[0]}`, 'content-type': 'application/json' };
  const answer = await fetch(`${ours.url}${PATH}`, { method: 'POST', headers, body });
  const file = join(await scope.tempDir(), 'answer.json');
  await writeFile(file, await answer.text());
  const program = resolve(import.meta.dirname, '../api/bare-server.ts');
  return startNode(scope, (port) => [program, `${port}`, file]);
}

async function run(scope: BenchScope): Promise<Figure[]> {
  const ours = await startServer(scope, { data: await seededFolder(scope) });
  const bare = await bareServer(scope, ours);
  const local = await inProcess(scope);
  const load = startLoader(scope);
  const ask = async ({ url }: ServerProcess): Promise<number> => {
    const post: LoadJob['post'] = { path: PATH, body };
    const port = Number(new URL(url).port);
    return (await load({ port, method: 'POST', hosts: [], post, secrets, forMs: ROUND_MS })).perSecond;
  };
  const peers: { readonly bare: number; readonly local: number }[] = [];
  const { ours: rate, ratio } = await runPaired(scope, ROUNDS, async (round) => {
    const [mine, bareRate] = [await ask(ours), await ask(bare)];
    const localRate = await runLoad(local.journal, { callers: CLIENTS, forMs: ROUND_MS });
    demandPlaced(await local.takeWritten());
    if (round > 0) peers.push({ bare: bareRate, local: localRate });
    return [mine, Math.min(bareRate, localRate)];
  });
  await demandNoFaults(ours);
  const [bareRate, localRate] = [median(peers.map((one) => one.bare)), median(peers.map((one) => one.local))];
  const peer = `bare Fastify POST: ${Math.round(bareRate)}/s, in the process: ${Math.round(localRate)}/s`;
  return [{ name: 'placements-http', value: rate, unit: 'placements/s', peer, ...atLeast(GOAL, ratio) }];
}

/** What found no host is accepted too: then the run would have measured something else. */
async function demandNoFaults({ url }: ServerProcess): Promise<void> {
  const headers = { authorization: `Bearer ${secrets[0]}` };
  for (const state of ['error', 'active']) {
    const answer = await fetch(`${url}${PATH}?state=${state}&limit=1`, { headers });
    const { items } = (await answer.json()) as { readonly items: readonly unknown[] };
    if (items.length > 0) throw new Error(`an instance is ${state}: ${JSON.stringify(items[0])}`);
  }
}

export const httpBenchmark: Benchmark = {
  name: 'placements-http',
  about:
    `POST ${PATH} on 64 connections, ${HOSTS} hosts, on SQLite, beside the lower of the rate in a process ` +
    'and a bare Fastify POST of the same body',
  seconds: SECONDS,
  run,
};
