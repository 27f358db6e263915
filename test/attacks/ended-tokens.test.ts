// A stream or a long poll does not outlive its token: what is committed after the token's end is never sent.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idIn } from '../api/every-route.ts';
import { openStream, type Reader } from '../api/sse.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';
import { holdWrites } from './hold-writes.ts';

/** Nothing may depend on the signs of life that are sent now and then. */
const NEVER_MS = 2 ** 30;

let world: ApiTestServer;
let url: string;
let admin: string;

beforeEach(async () => {
  world = await startApiTestServer({ keepAliveMs: NEVER_MS });
  await populate(world);
  url = await world.server.listen({ host: '127.0.0.1', port: 0 });
  admin = await world.token('admin');
});

afterEach(() => world.close());

const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
const revoke = (secret: string) => world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(secret)}` });

async function openWatch(secret: string): Promise<Reader> {
  const reader = await openStream(`${url}/api/v1/watch`, bearer(secret));
  await reader.next();
  return reader;
}

test('never: a watcher is shown a commit after the one that revokes its token', async () => {
  const spy = await world.token('viewer');
  const reader = await openWatch(spy);
  const revoked = revoke(spy);
  // Decided in the same group, right behind it.
  const secret = world.commit(hostChange('secret-host'));
  expect((await revoked).statusCode).toBe(200);
  await secret;
  await reader.ended;
  expect(reader.raw()).not.toContain('secret-host');
});

test('a watcher is cut off when its token expires, not at the next sign of life', async () => {
  const expiresAtMs = world.clock.nowMs() + 1500;
  const reader = await openWatch(await world.token('viewer', { expiresAtMs }));
  await reader.ended;
  expect(world.clock.nowMs()).toBeGreaterThanOrEqual(expiresAtMs);
});

test('watchers with other tokens continue', async () => {
  const [spy, other] = [await world.token('viewer'), await world.token('viewer')];
  const [reader, going] = [await openWatch(spy), await openWatch(other)];
  await revoke(spy);
  await reader.ended;
  await world.commit(hostChange('seen-host'));
  await expect.poll(() => going.raw()).toContain('seen-host');
  going.close();
});

test.each(['/api/v1/history', '/api/v1/hosts?sort=zone'])(
  'never: a read that waits for its turn is answered after its token was revoked (%s)',
  async (path) => {
    const spy = await world.token('viewer');
    const { store } = world.journal;
    const [history, turn] = [store.history.bind(store), world.clock.turn.bind(world.clock)];
    const [request, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const wait = async (): Promise<void> => {
      request.resolve(undefined);
      await released.promise;
    };
    store.history = async (wanted) => {
      await wait();
      return history(wanted);
    };
    world.clock.turn = async () => {
      if (!path.includes('history')) await wait();
      await turn();
    };
    const reading = world.call(spy, { url: path });
    await request.promise;
    expect((await revoke(spy)).statusCode).toBe(200);
    released.resolve(undefined);
    expect((await reading).statusCode).toBe(401);
  },
);

test('never: an agent that waits for its view is given one after its token was revoked', async () => {
  const agent = await world.token('agent', { host: 'central-0' });
  await world.commit(hostChange('central-0', { credential: idIn(agent) }));
  const view = { url: '/api/v1/agent/view' };
  const first = (await world.call(agent, view)).json<{ view: { digest: string; stamp: { leaseEpoch: number } } }>();
  const { digest, stamp } = first.view;
  const waiting = world.call(agent, {
    url: `/api/v1/agent/view?digest=${digest}&leaseEpoch=${stamp.leaseEpoch}`,
  });
  const early = await Promise.race([waiting, world.clock.sleep(200)]);
  expect(early?.body).toBeUndefined();
  await revoke(agent);
  expect((await waiting).statusCode).toBe(403);
});

test('never: an answer to a task is recorded for an agent whose token is revoked before the commit', async () => {
  const agent = await world.token('agent', { host: 'central-0' });
  await world.commit(hostChange('central-0', { credential: idIn(agent) }));
  const { submitted, release } = holdWrites(world);
  const revoking = revoke(agent);
  await submitted;
  const answering = world.call(agent, {
    method: 'POST',
    url: '/api/v1/agent/observations',
    payload: { answers: [{ task: 't', outcome: 'done' }] },
  });
  // The door sees what is durable: it lets the agent in.
  await world.clock.sleep(100);
  release();
  expect((await revoking).statusCode).toBe(200);
  expect((await answering).json()).toEqual({ results: [{ task: 't', result: 'not-taken' }] });
});

test('a watcher whose token is revoked in what the journal loads anew is cut off, and others are notified that it diverged', async () => {
  const [spy, other] = [await world.token('viewer'), await world.token('viewer')];
  await world.commit(hostChange('known-host'));
  const [reader, going] = [await openWatch(spy), await openWatch(other)];
  // Behind the back of this server, as with a standby that was promoted: no commit says it.
  const edit = (key: string, more: object): void =>
    world.disk.change(({ resources }) => {
      const resource = resources.get(key)!;
      const body = JSON.stringify({ ...(JSON.parse(resource.body) as object), ...more });
      resources.set(key, { ...resource, body, revision: resource.revision - 1 });
    });
  edit(`token/${idIn(spy)}`, { revoked: { by: 'somebody', atMs: 1 } });
  edit('host/known-host', {});
  let rebuilt = 0;
  world.journal.onRebuilt(() => void (rebuilt += 1));
  await world.commit(hostChange('known-host', { tunnelAddress: '10.0.0.77' }));
  expect(rebuilt).toBe(1);
  await reader.ended;
  await world.commit(hostChange('seen-host'));
  // Whoever still may learns that what it was shown before is not what there is now.
  await going.ended;
  expect(going.raw()).toContain('event: diverged');
  expect([reader, going].filter((one) => one.raw().includes('seen-host'))).toEqual([]);
});
