// Long polls and streams, as many as one credential can open: others are served meanwhile, probes are answered, and what one credential
// took is free again when it goes.
import { Agent, request, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idIn } from '../api/every-route.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';
import { DEFAULT_LIMITS } from '../../src/api/limits/limits.ts';

const LIMITS = {
  ...DEFAULT_LIMITS,
  requestsPerToken: 8,
  connectionsPerToken: 12,
  streams: 20,
  streamsPerToken: 6,
  streamsAdminShare: 0.1,
};
const FLOOD = 60;

let world: ApiTestServer;
let url: string;
const flooding: Agent[] = [];

beforeEach(async () => {
  world = await startApiTestServer({ limits: LIMITS });
  await populate(world);
  url = await world.server.listen({ host: '127.0.0.1', port: 0 });
  // Without a token of an administrator a server is not ready.
  await world.token('admin');
});

afterEach(async () => {
  for (const agent of flooding.splice(0)) agent.destroy();
  await world.close();
});

async function agentOf(host: string): Promise<string> {
  const secret = await world.token('agent', { host });
  await world.commit(hostChange(host, { credential: idIn(secret) }));
  return secret;
}

interface Opened {
  readonly status: number;
  /** Read on request. */
  readonly text: () => Promise<string>;
}

/** A request on a connection of its own. */
function open(secret: string, path: string, agent = new Agent()): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const requested = request(`${url}${path}`, { agent, headers: { authorization: `Bearer ${secret}` } });
    requested.once('error', reject);
    requested.once('response', (answer: IncomingMessage) => {
      answer.setEncoding('utf8').on('error', () => undefined);
      const text = async (): Promise<string> => ((await answer.toArray()) as string[]).join('');
      resolve({ status: answer.statusCode ?? 0, text });
    });
    requested.end();
  });
}

/** Opens many requests, each on a connection of its own; answers the status of those that were answered so far. */
function flood(secret: string, path: string): number[] {
  const statuses: number[] = [];
  for (let nth = 0; nth < FLOOD; nth += 1) {
    const agent = new Agent();
    flooding.push(agent);
    open(secret, path, agent).then(
      ({ status }) => statuses.push(status),
      // Cut off: no status came.
      () => statuses.push(0),
    );
  }
  return statuses;
}

/** A stream that is read only by the caller. */
function openStream(secret: string): Promise<IncomingMessage> {
  const agent = new Agent();
  flooding.push(agent);
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${secret}` };
    const requested = request(`${url}/api/v1/watch`, { agent, headers }).once('error', reject);
    requested.once('response', (answer: IncomingMessage) => resolve(answer.on('error', () => undefined)));
    requested.end();
  });
}

/** What all other callers must still get. */
async function expectService(other: string): Promise<void> {
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  for (const role of ['viewer', 'operator'] as const) {
    const answer = await open(await world.token(role), '/api/v1/hosts');
    expect(answer.status).toBe(200);
  }
  const beat = await fetch(`${url}/api/v1/agent/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${other}`, 'content-type': 'application/json' },
    body: '{"serviceVersion":1}',
  });
  expect(beat.status).toBe(200);
  const view = await open(other, '/api/v1/agent/view?waitMs=0');
  expect(view.status).toBe(200);
}

interface Answered {
  readonly kind: string;
  readonly view?: { readonly digest: string; readonly stamp: { readonly leaseEpoch: number } };
}

/** The question that is answered when something changes, and not before. */
async function longPoll(secret: string): Promise<string> {
  const { view } = JSON.parse(await (await open(secret, '/api/v1/agent/view?waitMs=0')).text()) as Answered;
  return `/api/v1/agent/view?waitMs=25000&digest=${view?.digest}&leaseEpoch=${view?.stamp.leaseEpoch}`;
}

test('of an agent: others are served, their polls are answered when their view changes, and its own newest is', async () => {
  const [greedy, other] = [await agentOf('central-0'), await agentOf('central-1')];
  const poll = await longPoll(greedy);
  const waiting = open(other, await longPoll(other));
  const statuses = flood(greedy, poll);
  // All but as many as one credential may have are answered or refused, none is left hanging.
  await expect.poll(() => statuses.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(FLOOD - LIMITS.requestsPerToken);
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  await expectService(other);
  await world.commit(hostChange('central-1', { credential: idIn(other), tunnelAddress: '10.0.0.201' }));
  expect(JSON.parse(await (await waiting).text())).toMatchObject({ kind: 'view' });
  for (const agent of flooding.splice(0)) agent.destroy();
  await expect.poll(async () => (await open(greedy, '/api/v1/agent/view?waitMs=0')).status).toBe(200);
});

test('of an agent on every route that waits', async () => {
  const [greedy, other] = [await agentOf('central-0'), await agentOf('central-1')];
  const body = JSON.stringify({ service: 'nat:x', operation: 'op', phase: 'syncing', waitMs: 20_000 });
  const headers = { authorization: `Bearer ${greedy}`, 'content-type': 'application/json' };
  const over = new AbortController();
  const collect = () =>
    fetch(`${url}/api/v1/agent/connections/collect`, { method: 'POST', headers, body, signal: over.signal });
  for (let nth = 0; nth < FLOOD; nth += 1) collect().catch(() => undefined);
  await expectService(other);
  over.abort();
});

test('of a watcher: others are served, other watchers see what is committed, and its streams end with its token', async () => {
  const [greedy, other] = [await world.token('viewer'), await agentOf('central-1')];
  const statuses = flood(greedy, '/api/v1/watch');
  await expect.poll(() => statuses.length, { timeout: 20_000 }).toBe(FLOOD);
  expect(statuses.filter((status) => status === 200)).toHaveLength(LIMITS.streamsPerToken);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  await expectService(other);
  const watcher = await openStream(await world.token('viewer'));
  let seen = '';
  watcher.setEncoding('utf8').on('data', (text: string) => (seen += text));
  await world.commit(hostChange('seen-host'));
  await expect.poll(() => seen).toContain('seen-host');
  // The places come back with the revocation, whatever the readers do.
  const admin = await world.token('admin');
  await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(greedy)}` });
  const next = await world.token('viewer');
  const again = await Promise.all(Array.from({ length: LIMITS.streamsPerToken }, () => openStream(next)));
  expect(again.map(({ statusCode }) => statusCode)).toEqual(Array(LIMITS.streamsPerToken).fill(200));
});

test('of watchers with many tokens: an administrator still gets a stream', async () => {
  const tokens = await Promise.all(Array.from({ length: 6 }, () => world.token('viewer')));
  const statuses = tokens.map((token) => flood(token, '/api/v1/watch'));
  await expect.poll(() => statuses.flat().length, { timeout: 20_000 }).toBe(6 * FLOOD);
  expect(statuses.flat().filter((status) => status === 200).length).toBeLessThan(LIMITS.streams);
  expect((await openStream(await world.token('admin'))).statusCode).toBe(200);
  await expectService(await agentOf('central-1'));
});
