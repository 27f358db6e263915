// Several servers on one store: writes go to the one that decides, reads are answered anywhere, and a server that stops
// loses nothing.
import { Agent, createServer, request as httpRequest } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { SITE } from '../../src/sites/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { NotHolder, StoreUnavailable } from '../../src/journal/index.ts';
import { selfSigned } from '../self-signed.ts';
import { clockAhead, takeLease, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const open: ApiTestServer[] = [];

afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

async function server(
  options: Parameters<typeof startApiTestServer>[0] = {},
): Promise<{ world: ApiTestServer; url: string }> {
  const world = await startApiTestServer({ leads: false, ...options });
  open.push(world);
  return { world, url: await world.server.listen({ host: '127.0.0.1', port: 0 }) };
}

async function pair(): Promise<{
  holder: ApiTestServer;
  follower: ApiTestServer;
  holderUrl: string;
  followerUrl: string;
  admin: string;
}> {
  const clock = clockAhead();
  const { world: holder, url: holderUrl } = await server({ clock });
  await takeLease(holder, holderUrl);
  await populate(holder);
  const { world: follower, url: followerUrl } = await server({ clock, disk: holder.disk });
  const admin = await holder.token('admin');
  await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
  return { holder, follower, holderUrl, followerUrl, admin };
}

const post = (url: string, secret: string, payload: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    body: JSON.stringify(payload),
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
  });

describe('a server that does not decide', () => {
  test('forwards a write with the identity, key and request id of its caller', async () => {
    const { holder, follower, followerUrl, admin } = await pair();
    const headers = { 'idempotency-key': 'f1', 'x-request-id': 'req-1' };
    const first = await post(`${followerUrl}/api/v1/sites`, admin, { name: 'east' }, headers);
    expect(first.status).toBe(201);
    expect(first.headers.get('x-request-id')).toBe('req-1');
    expect(first.headers.get('location')).toBe('/api/v1/sites/east');
    expect(holder.journal.fleet.get(SITE, idOf(SITE, 'east'))?.doc.changedBy).toMatch(/^admin/);
    const second = await post(`${followerUrl}/api/v1/sites`, admin, { name: 'east' }, headers);
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    // The same key at the holder itself is the same request.
    const direct = await holder.call(admin, {
      method: 'POST',
      url: '/api/v1/sites',
      payload: { name: 'east' },
      headers,
    });
    expect(direct.headers['idempotency-replayed']).toBe('true');
    // Read your own write anywhere.
    const revision = first.headers.get('muster-revision') ?? '';
    const read = await follower.call(admin, { url: '/api/v1/sites/east', headers: { 'muster-revision': revision } });
    expect(read.statusCode).toBe(200);
  });

  test('passes refusals on as they are, and refuses wrong callers itself', async () => {
    const { followerUrl, holder, follower, admin } = await pair();
    const refused = await post(`${followerUrl}/api/v1/sites`, admin, { name: 'central' });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([
      409,
      'application/problem+json; charset=utf-8',
    ]);
    expect(await refused.json()).toMatchObject({ code: 'site-exists' });
    const viewer = await holder.token('viewer');
    await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
    expect((await post(`${followerUrl}/api/v1/sites`, viewer, { name: 'x' })).status).toBe(403);
    expect((await post(`${followerUrl}/api/v1/sites`, 'mst_tk-1_00000000000000000000', { name: 'x' })).status).toBe(
      401,
    );
  });

  test('lets a token that it does not know yet be assessed by the one that does', async () => {
    const { holder, follower, followerUrl } = await pair();
    // The follower stays at its revision while the holder commits.
    follower.journal.catchUp = () => follower.clock.sleep(20);
    const fresh = await holder.token('admin');
    expect((await post(`${followerUrl}/api/v1/sites`, fresh, { name: 'fresh' })).status).toBe(201);
  });

  test('goes nowhere but to the holder, whatever the request line names', async () => {
    const { followerUrl, admin } = await pair();
    const received: string[] = [];
    const elsewhere = createServer((request, reply) => {
      received.push(String(request.headers.authorization));
      reply.end('internal');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    const { hostname, port: followerPort } = new URL(followerUrl);
    const statuses: (number | undefined)[] = [];
    for (const path of [`http://127.0.0.1:${port}/api/v1/sites`, `//127.0.0.1:${port}/api/v1/sites`]) {
      const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json', 'content-length': 15 };
      const request = httpRequest({ host: hostname, port: followerPort, method: 'POST', path, headers });
      request.end('{"name":"else"}');
      statuses.push(
        await new Promise((resolve) => request.on('response', (answer) => resolve(answer.resume().statusCode))),
      );
    }
    expect(received).toEqual([]);
    expect(statuses.every((status) => status === 400 || status === 404)).toBe(true);
    elsewhere.close();
  });

  test('redirects agents to the holder', async () => {
    const { holder, follower, holderUrl } = await pair();
    const agent = await holder.token('agent', { host: 'central-0' });
    await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
    const answer = await follower.call(agent, {
      method: 'POST',
      url: '/api/v1/agent/heartbeat',
      payload: { serviceVersion: 1 },
    });
    expect(answer.json()).toMatchObject({ status: 421, code: 'not-holder', holder: holderUrl });
  });

  test('says so when no server holds the lease, and when the holder is gone', async () => {
    const { holder, followerUrl, admin } = await pair();
    await holder.server.close();
    const refused = await post(`${followerUrl}/api/v1/sites`, admin, { name: 'x' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ code: 'holder-unreachable', outcome: 'failed' });
    holder.clock.ahead(2 * 10 ** 9);
    const unserved = await post(`${followerUrl}/api/v1/sites`, admin, { name: 'x' });
    expect(await unserved.json()).toMatchObject({ status: 503, code: 'no-holder', outcome: 'failed' });
  });

  test('says that it does not trust the certificate of the holder, and what to do', async () => {
    const received: string[] = [];
    const distrusted = createSecureServer(await selfSigned(), (request, reply) => {
      received.push(String(request.headers.authorization));
      reply.end();
    });
    await new Promise<void>((resolve) => distrusted.listen(0, '127.0.0.1', resolve));
    const holderUrl = `https://127.0.0.1:${(distrusted.address() as AddressInfo).port}`;
    const clock = clockAhead();
    const { world: holder } = await server({ clock });
    await takeLease(holder, holderUrl);
    const { world: follower, url } = await server({ clock, disk: holder.disk });
    const admin = await holder.token('admin');
    await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
    const answer = await post(`${url}/api/v1/sites`, admin, { name: 'x' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      code: 'holder-unreachable',
      outcome: 'failed',
      detail: `This server does not talk to ${holderUrl}, which decides: its certificate is not trusted here. Name its authority in NODE_EXTRA_CA_CERTS where this server is started, and start this server again. Nothing was changed.`,
    });
    expect(received).toEqual([]);
    distrusted.close();
  });

  test('never passes a request on twice', async () => {
    const { follower, admin } = await pair();
    const headers = { 'muster-forwarded': '1' };
    const answer = await follower.call(admin, {
      method: 'POST',
      url: '/api/v1/sites',
      payload: { name: 'x' },
      headers,
    });
    expect(answer.json()).toMatchObject({ status: 503, code: 'no-holder' });
  });

  test('a lease lost while a request waits sends it on to the new holder', async () => {
    const { holder, follower, followerUrl, admin } = await pair();
    const submit = holder.journal.submit.bind(holder.journal);
    holder.journal.submit = () => {
      holder.journal.submit = submit;
      return Promise.reject(new NotHolder());
    };
    await holder.journal.store.releaseLease('fleet', 1);
    await takeLease(follower, followerUrl);
    const answer = await holder.call(admin, { method: 'POST', url: '/api/v1/sites', payload: { name: 'moved' } });
    expect(answer.statusCode).toBe(201);
    expect(follower.journal.fleet.get(SITE, idOf(SITE, 'moved'))).toBeDefined();
  });
});

describe('a read', () => {
  test('for a revision that does not come in time is answered with Retry-After', async () => {
    const { world } = await server();
    await takeLease(world);
    const viewer = await world.token('viewer');
    const answer = await world.call(viewer, { url: '/api/v1/hosts', headers: { 'muster-revision': '1000' } });
    expect(answer.json()).toMatchObject({ status: 503, code: 'revision-not-reached' });
    expect(answer.headers['retry-after']).toBe('1');
  });

  test('without a valid token is not waited for, and learns no revision', async () => {
    const { world } = await server();
    await takeLease(world);
    const waited: number[] = [];
    const { waitForRevision } = world.journal;
    world.journal.waitForRevision = (revision, timeoutMs) => {
      waited.push(revision);
      return waitForRevision.call(world.journal, revision, timeoutMs);
    };
    const headers = { 'muster-revision': '1000' };
    const answer = await world.server.app.inject({ url: '/api/v1/hosts', headers });
    expect(answer.statusCode).toBe(401);
    expect((await world.server.app.inject({ url: '/livez', headers })).statusCode).toBe(200);
    expect(waited).toEqual([]);
  });

  test('waits for a revision that comes', async () => {
    const { world } = await server();
    await takeLease(world);
    await populate(world);
    const viewer = await world.token('viewer');
    const next = world.journal.fleet.revision + 1;
    const reading = world.call(viewer, { url: '/api/v1/hosts', headers: { 'muster-revision': String(next) } });
    await world.token('viewer');
    expect((await reading).statusCode).toBe(200);
  });
});

describe('a store that fails', () => {
  test.each(['failed', 'unknown'] as const)('is answered with its outcome: %s', async (outcome) => {
    const { world } = await server();
    await takeLease(world);
    const admin = await world.token('admin');
    world.journal.submit = () => Promise.reject(new StoreUnavailable('the store is away', { outcome }));
    const answer = await world.call(admin, { method: 'POST', url: '/api/v1/sites', payload: { name: 'x' } });
    expect(answer.json()).toMatchObject({ status: 503, code: 'store-unavailable', outcome });
    expect(answer.headers['retry-after']).toBe('1');
  });
});

describe('connections', () => {
  test('are-kept-for-longer-than-agents-pause-between-two-heartbeats', async () => {
    const { url } = await server();
    const answer = await fetch(`${url}/livez`, { headers: { connection: 'keep-alive' } });
    const seconds = Number(/timeout=(\d+)/.exec(answer.headers.get('keep-alive') ?? '')?.[1]);
    expect(seconds).toBeGreaterThan(60);
  });
});

describe('shutting down', () => {
  test('loses nothing: every answered write is there, and nothing else is', async () => {
    const { world, url } = await server();
    await takeLease(world);
    const admin = await world.token('admin');
    void slowStore(world, 10);
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const sent: Promise<{ name: string; status: number }>[] = [];
    for (let at = 0; at < 200; at += 1) {
      sent.push(siteOver(agent, url, admin, `s-${at}`));
      if (at === 100) setTimeout(() => void world.server.close(), 5);
      if (at % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const answers = await Promise.all(sent);
    await world.server.close();
    const there = (name: string): boolean => world.journal.fleet.get(SITE, idOf(SITE, name)) !== undefined;
    const accepted = answers.filter((answer) => answer.status === 201);
    const refused = answers.filter((answer) => answer.status !== 201);
    expect(accepted.filter((answer) => !there(answer.name))).toEqual([]);
    // What was answered with a refusal, or not accepted at all, is not there. No connection was cut in the middle.
    expect(refused.filter((answer) => there(answer.name))).toEqual([]);
    expect(accepted.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    agent.destroy();
  });

  test('answers what has begun, and redirects what comes after it', async () => {
    const { world, url } = await server();
    await takeLease(world);
    const admin = await world.token('admin');
    const started = slowStore(world, 100);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    const auth = `host: x\r\nauthorization: Bearer ${admin}\r\n`;
    const body = '{"name":"begun"}';
    const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    socket.write(`POST /api/v1/sites HTTP/1.1\r\n${auth}${head}\r\n${body}`);
    await started;
    const closing = world.server.close();
    socket.write(`GET /api/v1/sites HTTP/1.1\r\n${auth}\r\n`);
    await closing;
    await expect.poll(() => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['201', '503']);
    expect(text).toContain('"code":"shutting-down"');
    expect(world.journal.fleet.get(SITE, idOf(SITE, 'begun'))).toBeDefined();
  });

  test('does not wait for idle connections to be closed by their clients', async () => {
    const { world, url } = await server();
    await takeLease(world);
    const viewer = await world.token('viewer');
    const agent = new Agent({ keepAlive: true });
    await get(agent, `${url}/livez`, viewer);
    await world.server.close();
    agent.destroy();
  });
});

/** A store that takes its time, so that requests are under way when something happens. */
/** Answers when the first group is being written. */
function slowStore({ journal }: ApiTestServer, ms: number): Promise<void> {
  const write = journal.store.write.bind(journal.store);
  return new Promise((started) => {
    journal.store.write = async (group) => {
      started();
      await new Promise((resolve) => setTimeout(resolve, ms));
      return write(group);
    };
  });
}

function get(agent: Agent, url: string, secret: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent, headers: { authorization: `Bearer ${secret}` } }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
    });
    request.on('error', reject);
    request.end();
  });
}

/** Status 0 for a request that got no answer. */
function siteOver(agent: Agent, url: string, secret: string, name: string): Promise<{ name: string; status: number }> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const request = httpRequest(`${url}/api/v1/sites`, { agent, method: 'POST', headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve({ name, status: answer.statusCode ?? 0 }));
      answer.on('error', () => resolve({ name, status: 0 }));
    });
    request.on('error', () => resolve({ name, status: 0 }));
    request.end(JSON.stringify({ name }));
  });
}
