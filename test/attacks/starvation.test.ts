// No caller can starve the server: reads that cost much are done in slices and in turn, and what one token takes of requests,
// streams and reads leaves the rest to others.
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import type { CommitBatch, Store } from '../../src/journal/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { LeaseController } from '../../src/operations/runtime.ts';
import { SITE } from '../../src/sites/index.ts';
import { openStream, type Reader } from '../api/sse.ts';
import {
  clockAhead,
  hostChange,
  startApiTestServer,
  type ApiTestServer,
  type ApiTestServerOptions,
} from '../api/api-test-server.ts';

const open: ApiTestServer[] = [];

afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

async function started(options: ApiTestServerOptions = {}): Promise<{ world: ApiTestServer; url: string }> {
  const world = await startApiTestServer({ logLevel: 'warn', ...options });
  open.push(world);
  return { world, url: await world.server.listen({ host: '127.0.0.1', port: 0 }) };
}

const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

/** A document near the limit of 64 KiB that takes long to parse: many small values. */
function largeHost(name: string): string {
  const { doc } = hostChange(name);
  return JSON.stringify({ ...doc, padding: Array.from({ length: 6000 }, (_, at) => `t${at}`) });
}

/** As if hosts had been edited for a while: each commit has one large document. */
async function fillHistory(store: Store, commits: number): Promise<void> {
  const body = largeHost('compute-1');
  const batches = Array.from({ length: commits }, (_, at): CommitBatch => {
    const change = { kind: 'host', id: 'compute-1', body };
    return { id: `filled-${at}`, atMs: 1, by: 'test', changes: [change], preconditions: [] };
  });
  await store.write({ batches });
}

async function sqliteStore(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-starvation-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return openSqliteStore({ path: join(folder, 'journal.db') });
}

/** Answers over connections that are kept, so that many can be requested in one moment. */
function ask(url: string, secret: string | undefined, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = { ...(secret !== undefined && bearer(secret)), ...headers };
    const request = httpRequest(url, { headers: sent, agent: false }, (message) => {
      let body = '';
      message.setEncoding('utf8');
      message.on('data', (chunk: string) => (body += chunk));
      message.on('end', () => resolve({ status: message.statusCode ?? 0, body }));
    });
    request.on('error', reject);
    request.end();
  });
}

interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

interface Pipelined {
  readonly secret: string;
  readonly path: string;
  readonly count: number;
}

/** Sends the same request many times in one packet, so that all arrive in one turn; answers how many were answered with 200. */
function sendPipelined(url: string, { secret, path, count }: Pipelined): Promise<number> {
  const head = (connection: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\nauthorization: Bearer ${secret}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let [good, rest] = [0, ''];
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      const parts = (rest + chunk).split('HTTP/1.1 200 OK');
      good += parts.length - 1;
      rest = (parts.at(-1) ?? '').slice(-20);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(good));
    socket.write(`${head('keep-alive').repeat(count - 1)}${head('close')}`);
  });
}

const codeIn = ({ body }: HttpAnswer): unknown => (JSON.parse(body) as { readonly code?: string }).code;

test('thirty parallel reads of a long history do not cost the lease', { timeout: 120_000 }, async () => {
  const store = await sqliteStore();
  await fillHistory(store, 300);
  const { world, url } = await started({ store, leads: false });
  const stop = new AbortController();
  // Renewals are counted at the store; the lease is short, so that a server that is held up loses it.
  let renewals = 0;
  const renew = store.renewLease.bind(store);
  store.renewLease = (request) => {
    renewals += 1;
    return renew(request);
  };
  const { clock, journal } = world;
  const lost: string[] = [];
  const log = {
    info: () => undefined,
    error: () => undefined,
    warn: (_: object, text: string) => void lost.push(text),
  };
  const lease = new LeaseController({ journal, clock, log, holder: 'test', url: () => url, ttlMs: 4000, renewMs: 200 });
  const leasing = lease.run(stop.signal);
  await expect.poll(() => journal.fence).toBeDefined();
  const epoch = journal.fence?.epoch;
  const viewer = await world.token('viewer');
  const before = renewals;
  expect(await sendPipelined(url, { secret: viewer, path: '/api/v1/history?limit=500', count: 30 })).toBe(30);
  expect(renewals).toBeGreaterThan(before);
  expect(lost).toEqual([]);
  expect(journal.fence?.epoch).toBe(epoch);
  expect((await store.readLease('fleet'))?.epoch).toBe(epoch);
  stop.abort();
  await leasing;
});

test('a page of history ends at its limit of bytes, and the next one begins there', { timeout: 60_000 }, async () => {
  const { world, url } = await started();
  const viewer = await world.token('viewer');
  await fillHistory(world.journal.store, 60);
  await world.journal.catchUp();
  const revisions: number[] = [];
  let next: number | undefined;
  let pages = 0;
  do {
    const before: string = next === undefined ? '' : `&before=${next}`;
    const { body } = await ask(`${url}/api/v1/history?kind=host&id=compute-1&limit=500${before}`, viewer);
    const page = JSON.parse(body) as { items: { revision: number }[]; next?: number };
    expect(body.length).toBeLessThan(3 * 1024 * 1024);
    revisions.push(...page.items.map((one) => one.revision));
    next = page.next;
    pages += 1;
  } while (next !== undefined);
  expect(pages).toBeGreaterThan(1);
  expect(revisions).toHaveLength(60);
  expect(revisions).toEqual([...new Set(revisions)].sort((one, other) => other - one));
});

test('the history of one host does not answer what else its commits did', async () => {
  const { world, url } = await started();
  const viewer = await world.token('viewer');
  await world.commit(...Array.from({ length: 50 }, (_, at) => hostChange(`h${at}`)));
  const { body } = await ask(`${url}/api/v1/history?kind=host&id=h7`, viewer);
  const { items } = JSON.parse(body) as { items: { changes: { id: string }[] }[] };
  expect(items.map(({ changes }) => changes.map(({ id }) => id))).toEqual([['h7']]);
});

test('more reads of the journal than one token may have waiting are refused, and others are served', async () => {
  const limits = { readsAtOnce: 2, readsPerToken: 1, readsReservedForAdmins: 1, readsWaitingPerToken: 3 };
  const { world, url } = await started({ limits: { ...limits, perTokenPerSecond: Infinity } });
  const [viewer, other, admin] = [await world.token('viewer'), await world.token('viewer'), await world.token('admin')];
  const store = world.journal.store;
  const held = Promise.withResolvers<undefined>();
  const history = store.history.bind(store);
  let requests = 0;
  store.history = async (query) => {
    requests += 1;
    if (query.kind === undefined) await held.promise;
    return history(query);
  };
  const first = Array.from({ length: 4 }, () => ask(`${url}/api/v1/history`, viewer));
  await expect.poll(async () => (await ask(`${url}/api/v1/history`, viewer)).status).toBe(429);
  expect(codeIn(await ask(`${url}/api/v1/history`, viewer))).toBe('too-many-reads');
  // One of two places is kept for administrators: they are answered while it is so.
  expect((await ask(`${url}/api/v1/history?kind=host`, admin)).status).toBe(200);
  expect(requests).toBe(2);
  const waiting = ask(`${url}/api/v1/history?kind=host`, other);
  held.resolve(undefined);
  const answers = await Promise.all([...first, waiting]);
  expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBeGreaterThanOrEqual(4);
  expect((await waiting).status).toBe(200);
});

test('one token cannot take all streams, and an administrator gets one when others have the rest', async () => {
  const limits = { streams: 10, streamsPerToken: 4, streamsAdminShare: 0.2 };
  const { world, url } = await started({ limits });
  const streams: Reader[] = [];
  const watch = async (secret: string): Promise<number> => {
    const stream = await openStream(`${url}/api/v1/watch`, bearer(secret));
    if (stream.status === 200) streams.push(stream);
    return stream.status;
  };
  const greedy = await world.token('viewer');
  const got: number[] = [];
  for (let n = 0; n < 6; n += 1) got.push(await watch(greedy));
  expect(got).toEqual([200, 200, 200, 200, 429, 429]);
  const [second, third, admin] = [await world.token('viewer'), await world.token('viewer'), await world.token('admin')];
  for (const secret of [second, second, second, second]) expect(await watch(secret)).toBe(200);
  expect(await watch(third)).toBe(503);
  expect(await watch(admin)).toBe(200);
  for (const stream of streams.splice(0)) stream.close();
  await expect.poll(() => watch(third)).toBe(200);
  // What a token has closed it may open again.
  await expect.poll(() => watch(greedy)).toBe(200);
  for (const stream of streams) stream.close();
});

test('one token cannot have more requests under way than its share, and gets its places back', async () => {
  const { world, url } = await started({ limits: { requestsPerToken: 4, perTokenPerSecond: Infinity } });
  const [greedy, other] = [await world.token('viewer'), await world.token('viewer')];
  const ahead = { 'muster-revision': String(world.journal.fleet.revision + 1) };
  const held = Array.from({ length: 4 }, () => ask(`${url}/api/v1/hosts`, greedy, ahead));
  await expect.poll(async () => (await ask(`${url}/api/v1/hosts`, greedy)).status).toBe(429);
  expect(codeIn(await ask(`${url}/api/v1/hosts`, greedy))).toBe('too-many-requests-at-once');
  expect((await ask(`${url}/api/v1/hosts`, other)).status).toBe(200);
  await world.commit(put(SITE, idOf(SITE, 'here'), { name: 'here', changedBy: 'test', changedAtMs: 1 }));
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (let n = 0; n < 10; n += 1) expect((await ask(`${url}/api/v1/hosts`, greedy)).status).toBe(200);
});

test('a request that is broken off gives its place back', async () => {
  const { world, url } = await started({ limits: { requestsPerToken: 2, perTokenPerSecond: Infinity } });
  const operator = await world.token('operator');
  const head = `POST /api/v1/hosts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${operator}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`;
  const sockets: Socket[] = [];
  for (let n = 0; n < 2; n += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(head);
    await expect.poll(async () => (await ask(`${url}/api/v1/hosts`, operator)).status).toBe(n === 0 ? 200 : 429);
    sockets.push(socket);
  }
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await ask(`${url}/api/v1/hosts`, operator)).status).toBe(200);
});

test('probes are answered while a stranger at the same address is rate limited', async () => {
  // Time stands still, so that nothing is allowed again meanwhile, however busy the machine is.
  const clock = clockAhead();
  const nowMs = clock.nowMs();
  const { world, url } = await started({ limits: { perAddressPerSecond: 2 }, clock: { ...clock, nowMs: () => nowMs } });
  await world.token('admin');
  const anonymous = await Promise.all(Array.from({ length: 20 }, () => ask(`${url}/api/v1/hosts`, 'made-up')));
  expect(anonymous.map(({ status }) => status)).toContain(429);
  const probes = Array.from({ length: 20 }, (_, at) => ask(`${url}/${at % 2 === 0 ? 'livez' : 'readyz'}`, undefined));
  expect((await Promise.all(probes)).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect((await ask(`${url}/api/v1/hosts`, 'made-up')).status).toBe(429);
});

test('a watch from the beginning comes whole, in pieces that wait for the reader', { timeout: 60_000 }, async () => {
  const { world, url } = await started({ keepAliveMs: 5 });
  const viewer = await world.token('viewer');
  const revision = await world.commit(...Array.from({ length: 2000 }, (_, at) => hostChange(`h${at}`)));
  const stream = await openStream(`${url}/api/v1/watch?after=${revision - 1}&kind=host`, bearer(viewer));
  expect((await stream.next()).event).toBe('open');
  const commit = await stream.next();
  expect(commit).toMatchObject({ event: 'commit', id: expect.stringMatching(`^${revision}\\.`) as string });
  const { changes } = JSON.parse(commit.data) as { changes: { id: string }[] };
  expect(new Set(changes.map(({ id }) => id)).size).toBe(2000);
  stream.close();
});

test('an end of many hosts is prepared before it is decided, and its repetition is not', async () => {
  const { world } = await started();
  const hosts = Array.from({ length: 30 }, (_, nth) => `many-${nth}`);
  const leaving = { operation: 'op-x', drain: true, by: 'ann', atMs: 0 };
  const connection = { state: 'down' as const, sinceMs: 0 };
  await world.commit(...hosts.map((name) => hostChange(name, { state: 'drained', leaving, connection })));
  const operator = await world.token('operator');
  const submitted: string[] = [];
  const submit = world.journal.submit.bind(world.journal);
  world.journal.submit = (request) => {
    submitted.push(request.by);
    return submit(request);
  };
  const headers = { 'idempotency-key': 'once' };
  const end = { method: 'POST', url: '/api/v1/scale-in/end', payload: { hosts }, headers } as const;
  const first = await world.call(operator, end);
  // How many slices there are depends on the machine; without any there would be one request.
  const prepared = submitted.length;
  expect(first.statusCode).toBe(202);
  expect(prepared).toBeGreaterThanOrEqual(3);
  const again = await world.call(operator, end);
  expect([again.statusCode, again.json(), submitted.length]).toEqual([202, first.json(), prepared + 1]);
});

test('previews and tenants are planned one at a time: requests of others are decided between them', async () => {
  const { world } = await started();
  await world.commit(...['a', 'b'].map((name) => hostChange(name)));
  const [viewer, other, admin] = [await world.token('viewer'), await world.token('viewer'), await world.token('admin')];
  const done: string[] = [];
  const timeRequest = async (
    what: string,
    secret: string,
    request: Parameters<ApiTestServer['call']>[1],
  ): Promise<number> => {
    const { statusCode, body } = await world.call(secret, request);
    done.push(statusCode === 429 ? `${what} refused ${(JSON.parse(body) as { code: string }).code}` : what);
    return statusCode;
  };
  const preview = { method: 'POST', url: '/api/v1/scale-in/preview', payload: { hosts: ['a', 'b'] } } as const;
  const tenants = { method: 'GET', url: '/api/v1/hosts/a/tenants' } as const;
  const crowd = Array.from({ length: 40 }, (_, nth) => timeRequest('crowd', viewer, nth % 2 === 0 ? preview : tenants));
  const site = { method: 'POST', url: '/api/v1/sites', payload: { name: 'north' } } as const;
  const all = await Promise.all([...crowd, timeRequest('other', other, preview), timeRequest('write', admin, site)]);
  // One runs and 32 wait; those beyond are refused at once.
  expect(all.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect(done.filter((one) => one.includes('refused')).every((one) => one === 'crowd refused too-many-plans')).toBe(
    true,
  );
  // A caller with one request does not wait for all of another caller's, and a write waits for none of them.
  expect(done.indexOf('write')).toBeLessThan(done.lastIndexOf('crowd') - 10);
  expect(done.indexOf('other')).toBeLessThan(done.lastIndexOf('crowd') - 10);
});

describe('what looks through the fleet', () => {
  test.each([
    ['a sort', 'viewer', '/api/v1/hosts?sort=zone'],
    ['a filter without an index', 'viewer', '/api/v1/hosts?trait=none'],
    ['an index whose finds are sifted', 'viewer', '/api/v1/hosts?state=active&trait=none'],
    ['a site-bound caller where nothing is found by site', 'site', '/api/v1/ports'],
    ['the same', 'site', '/api/v1/instances'],
    ['the same', 'site', '/api/v1/operations'],
    ['the same', 'site', '/api/v1/alarms'],
    ['items of an operation that are sifted', 'viewer', '/api/v1/operations/op-1/items?state=done'],
    ['the candidates for a service', 'viewer', '/api/v1/services/nat:none/why'],
    ['hosts on their way', 'viewer', '/api/v1/scale-in'],
    ['the topology', 'viewer', '/restconf/data/network-topology:network-topology'],
    ['one topology', 'viewer', '/restconf/data/network-topology:network-topology/topology=ovsdb:1'],
    ['the inventory', 'viewer', '/restconf/data/opendaylight-inventory:nodes'],
  ])('%s: a caller with few requests is answered first (%s %s)', async (_, who, url) => {
    const { world } = await started();
    await world.commit(...['a', 'b'].map((name) => hostChange(name)));
    const crowd = who === 'site' ? await world.token('viewer', { site: 'central' }) : await world.token('viewer');
    const other = await world.token('viewer');
    const done: string[] = [];
    const timeRequest = async (
      what: string,
      secret: string,
      request: Parameters<ApiTestServer['call']>[1],
    ): Promise<void> => {
      await world.call(secret, request);
      done.push(what);
    };
    await Promise.all([
      ...Array.from({ length: 20 }, () => timeRequest('crowd', crowd, { method: 'GET', url })),
      timeRequest('other', other, { method: 'GET', url: '/api/v1/whoami' }),
    ]);
    expect(done.indexOf('other')).toBe(0);
  });

  test('previews of instances are planned one at a time, like those of a scale-in', async () => {
    const { world } = await started();
    const viewer = await world.token('viewer');
    const preview = { method: 'POST', url: '/api/v1/instances/preview', payload: { flavor: 'none' } } as const;
    const all = await Promise.all(Array.from({ length: 40 }, () => world.call(viewer, preview)));
    const refused = all.filter(({ statusCode }) => statusCode === 429);
    expect(refused.map(({ body }) => (JSON.parse(body) as { code: string }).code)).toContain('too-many-plans');
  });
});
