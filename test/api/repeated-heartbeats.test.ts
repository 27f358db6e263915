// Heartbeats that say the same again are not read again. Whoever says it is looked at each time all the same.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tokenIdIn } from '../../src/access/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { idOf, remove } from '../../src/fleet/index.ts';
import { hostChange, takeLease, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const HOST_ID = 'central-1';
const BEAT = { serviceVersion: 1, asOf: 3 };
const idIn = (secret: string): string => tokenIdIn(secret) ?? '';

let world: ApiTestServer;
let secret: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  secret = await agentOf(HOST_ID);
});
afterEach(() => world.close());

/** An agent that the host is bound to. */
async function agentOf(host: string): Promise<string> {
  const made = await world.token('agent', { host });
  await world.commit(hostChange(host, { credential: idIn(made) }));
  return made;
}

async function beats(as = secret, payload: object = BEAT, at = world) {
  const { statusCode, headers, ...answer } = await at.call(as, {
    method: 'POST',
    url: '/api/v1/agent/heartbeat',
    payload,
  });
  const { code } = answer.json<{ code?: string }>();
  return { status: statusCode, headers, body: answer.body, ...(code !== undefined && { code }) };
}

/** So often that nothing of it is new any more. */
async function settle(as = secret): Promise<void> {
  for (let nth = 0; nth < 3; nth += 1) expect((await beats(as)).status).toBe(200);
}

test('each-is-taken-and-answered-in-full', async () => {
  await settle();
  const { headers, body } = await beats();
  expect(world.received).toEqual([HOST_ID, HOST_ID, HOST_ID, HOST_ID]);
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'muster-revision': String(world.journal.fleet.revision),
    'content-length': String(Buffer.byteLength(body)),
  });
  // What the server takes is said each time: an agent may have been upgraded meanwhile.
  expect(JSON.parse(body)).toMatchObject({ report: 'wanted', readiness: 'per-service' });
  expect(headers['x-request-id']).toMatch(/^rq-/);
});

describe('never: a word counts because it is the one of last time', () => {
  test('once-its-token-is-revoked', async () => {
    await settle();
    const admin = await world.token('admin');
    await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(secret)}` });
    expect(await beats()).toMatchObject({ status: 401, code: 'token-revoked' });
    expect(world.received).toHaveLength(3);
  });

  test('once-its-token-has-expired', async () => {
    const host = 'central-2';
    const expiring = await world.token('agent', { host, expiresAtMs: world.clock.nowMs() + 60_000 });
    await world.commit(hostChange(host, { credential: idIn(expiring) }));
    await settle(expiring);
    world.clock.ahead(61_000);
    expect(await beats(expiring)).toMatchObject({ status: 401, code: 'token-expired' });
    expect(world.received).toHaveLength(3);
  });

  test('once-its-host-is-removed-and-when-that-is-admitted-again-with-another-credential', async () => {
    await settle();
    await world.commit(hostChange(HOST_ID, { credential: idIn(secret), state: 'removed' }));
    expect(await beats()).toMatchObject({ status: 403, code: 'host-removed' });
    await world.commit(remove(HOST, idOf(HOST, HOST_ID)));
    expect((await beats()).status).toBe(403);
    const again = await agentOf(HOST_ID);
    expect(await beats()).toMatchObject({ status: 403, code: 'credential-superseded' });
    expect(world.received).toHaveLength(3);
    expect((await beats(again)).status).toBe(200);
    expect(world.received).toHaveLength(4);
  });

  test('for-another-caller', async () => {
    await settle();
    const other = await agentOf('north-1');
    expect((await beats(other)).status).toBe(200);
    expect(world.received.slice(3)).toEqual(['north-1']);
    const unbound = await world.token('agent', { host: HOST_ID });
    expect(await beats(unbound)).toMatchObject({ status: 403, code: 'credential-superseded' });
    expect((await beats(await world.token('admin'))).status).toBe(403);
    expect((await beats('mst_tk-1_0123456789abcdef0123456789')).status).toBe(401);
    expect(world.received).toHaveLength(4);
  });

  test('on-another-route', async () => {
    await settle();
    const observed = { method: 'POST', url: '/api/v1/agent/observations', payload: BEAT } as const;
    expect((await world.call(secret, observed)).statusCode).toBe(400);
  });

  test('when-it-is-wrong', async () => {
    await settle();
    for (let nth = 0; nth < 3; nth += 1) expect((await beats(secret, { serviceVersion: 'x' })).status).toBe(400);
    await settle();
    expect(world.received).toHaveLength(6);
  });

  test('when-another-server-decides, nor-does-it-when-this-one-decides-again', async () => {
    await settle();
    const other = await startApiTestServer({ disk: world.disk, clock: world.clock, leads: false });
    try {
      world.clock.ahead(10 ** 9 + 1);
      await takeLease(other, 'http://127.0.0.1:2');
      await expect(world.commit(hostChange('north-2', { baseWeight: 1 }))).rejects.toThrow();
      expect(await beats()).toMatchObject({ status: 421, code: 'not-holder' });
      expect((await beats(secret, BEAT, other)).status).toBe(200);
      expect([world.received.length, other.received.length]).toEqual([3, 1]);
      // The host is bound to another credential by the other one; this one takes over from it.
      await other.commit(hostChange(HOST_ID, { credential: 'tk-another' }));
      world.clock.ahead(10 ** 9 + 1);
      await takeLease(world);
      expect(await beats()).toMatchObject({ status: 403, code: 'credential-superseded' });
      expect(world.received).toHaveLength(3);
    } finally {
      await other.close();
    }
  });
});
