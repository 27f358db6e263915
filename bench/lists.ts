// Reads of everything at 10^5 hosts: `muster hosts list`, a watch from the beginning, and how long others wait while one token
// reads the history thirty times at once. The limit is a bare HTTP server that answers the same bytes from memory to the same
// reader, in the same run.
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { below, noGoal, type Benchmark, type Figure } from './benchmark.ts';
import type { BenchScope } from './scope.ts';
import { clientTokenId, seededSecret, seedFolder } from './seeded-store.ts';
import { startNode, startServer } from './server-process.ts';

const HOSTS = 100_000;
const PAGE = 1000;
/** A list for people costs Node's start, parsing and rendering on top of the bytes. */
const LIST_RATIO_MAX = 6;
/** Each document is read from the journal, parsed, filtered and rendered anew. */
const WATCH_RATIO_MAX = 12;
/** The lease is renewed every second: nothing may wait so long that a renewal comes late. */
const DELAY_MAX_MS = 250;
const PARALLEL_READS = 30;
const PROBE_EVERY_MS = 5;

const MUSTER = resolve(import.meta.dirname, '../src/main/main.ts');
const PEER = resolve(import.meta.dirname, 'lists-peer-server.ts');
const READER = resolve(import.meta.dirname, 'lists-reader-process.ts');

const SECRET = seededSecret(clientTokenId(0));
const AUTHORIZED = { authorization: `Bearer ${SECRET}` };

export const listsBenchmark: Benchmark = {
  name: 'lists',
  about: `hosts list, watch after=0 and the wait of others behind ${PARALLEL_READS} history reads, with ${HOSTS} hosts`,
  seconds: 60,
  run: measure,
};

async function measure(scope: BenchScope): Promise<readonly Figure[]> {
  const data = await scope.tempDir();
  await seedFolder(data, { hosts: HOSTS, clients: 1 });
  const server = await startServer(scope, { data });
  const page = await (await fetch(`${server.url}/api/v1/hosts?limit=${PAGE}`, { headers: AUTHORIZED })).text();
  const file = join(data, 'page.json');
  await writeFile(file, page);
  const peer = await startNode(scope, (port) => [PEER, String(port), file]);
  scope.check();
  const list = await timed(() =>
    runNode([MUSTER, '--server', server.url, '--token', SECRET, 'hosts', 'list', '--output', 'json']),
  );
  const bareList = await timed(() => runNode([READER, `${peer.url}/page`, String(HOSTS / PAGE)]));
  scope.check();
  const watched = await timed(() => watchAll(`${server.url}/api/v1/watch?after=0&kind=host`));
  const bareWatch = await timed(() => readAll(`${peer.url}/bytes?count=${watched.answer}`));
  scope.check();
  const { delayMs, readMs } = await delayBehindReads(server.url);
  return [
    seconds('hosts-list-100000', { ms: list.ms, peerMs: bareList.ms, most: LIST_RATIO_MAX }),
    seconds('watch-from-0-100000', { ms: watched.ms, peerMs: bareWatch.ms, most: WATCH_RATIO_MAX }),
    {
      name: 'wait-behind-history-reads',
      value: delayMs,
      unit: 'ms',
      peer: `limit: ${DELAY_MAX_MS} ms`,
      ...below(1, delayMs / DELAY_MAX_MS),
    },
    { name: 'history-reads', value: readMs / 1000, unit: 's', peer: `${PARALLEL_READS} at once`, ...noGoal(1) },
  ];
}

interface Timed<T> {
  readonly answer: T;
  readonly ms: number;
}

async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const startedMs = performance.now();
  const answer = await work();
  return { answer, ms: performance.now() - startedMs };
}

function seconds(name: string, { ms, peerMs, most }: { ms: number; peerMs: number; most: number }): Figure {
  const peer = `bare HTTP: ${(peerMs / 1000).toFixed(2)} s`;
  return { name, value: ms / 1000, unit: 's', peer, ...below(most, ms / peerMs) };
}

/** Runs a program whose output is read and thrown away. */
async function runNode(args: readonly string[]): Promise<void> {
  const flags = ['--disable-warning=ExperimentalWarning'];
  const child = spawn(process.execPath, [...flags, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  const code = await new Promise((done) => child.once('close', done));
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${String(code)}`);
}

/** Reads events until all hosts have come; answers how many bytes that were. */
async function watchAll(url: string): Promise<number> {
  const over = new AbortController();
  const { body } = await fetch(url, { headers: AUTHORIZED, signal: over.signal });
  if (body === null) throw new Error('the stream has no body');
  const last = Buffer.from(`"id":"h-${String(HOSTS - 1).padStart(6, '0')}"`);
  let [bytes, isSeen, rest] = [0, false, Buffer.alloc(0)];
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    const text = Buffer.concat([rest, chunk]);
    isSeen = text.includes(last);
    if (isSeen) break;
    rest = text.subarray(-last.length);
  }
  over.abort();
  return bytes;
}

async function readAll(url: string): Promise<void> {
  const { body } = await fetch(url);
  for await (const _ of body as AsyncIterable<Uint8Array>);
}

/** The longest that a probe waited while one token read the history many times at once. */
async function delayBehindReads(url: string): Promise<{ readonly delayMs: number; readonly readMs: number }> {
  const over = new AbortController();
  let delayMs = 0;
  const probing = (async () => {
    while (!over.signal.aborted) {
      const { ms } = await timed(async () => (await fetch(`${url}/livez`)).text());
      delayMs = Math.max(delayMs, ms);
      await setTimeout(PROBE_EVERY_MS);
    }
  })();
  const read = async (): Promise<void> => {
    const answer = await fetch(`${url}/api/v1/history?limit=500`, { headers: AUTHORIZED });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`history answered ${answer.status}`);
  };
  const { ms: readMs } = await timed(() => Promise.all(Array.from({ length: PARALLEL_READS }, read)));
  over.abort();
  await probing;
  return { delayMs, readMs };
}
