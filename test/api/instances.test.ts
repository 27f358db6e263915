// What the HTTP surface of instances adds to the decisions behind it: tags, sites, previews that leave nothing, repetitions.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { INSTANCE } from '../../src/instances/index.ts';
import { PORT } from '../../src/network/index.ts';
import { OPERATION } from '../../src/operations/index.ts';
import { sampleNetwork } from './sample-network.ts';
import { takeLease, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let operator: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  await world.commit(...sampleNetwork());
  operator = await world.token('operator');
});
afterEach(() => world.close());

const VM = '/api/v1/instances/vm-1';
const REQUEST = { flavor: 'small', networks: [{ network: 'lan' }] };

const post = (secret: string, url: string, payload: object = {}, headers: Record<string, string> = {}) =>
  world.call(secret, { method: 'POST', url, payload, headers });

describe('an instance', () => {
  test('is-shown-with-its-ports, also when only they have changed', async () => {
    const first = await world.call(operator, { url: VM });
    expect(first.json()).toMatchObject({ name: 'vm-1', ports: [{ id: 'port-1', nic: 0, attached: true }] });
    const port = world.journal.fleet.get(PORT, idOf(PORT, 'port-1'));
    await world.commit(put(PORT, idOf(PORT, 'port-1'), { ...port!.doc, tag: 'mgmt' }));
    const again = await world.call(operator, { url: VM, headers: { 'if-none-match': String(first.headers.etag) } });
    expect(again.statusCode).toBe(200);
    expect(again.json()).toMatchObject({ ports: [{ tag: 'mgmt' }] });
    expect(again.headers.etag).toBe(first.headers.etag);
  });

  test('is-changed-only-as-it-was-read', async () => {
    const { headers } = await world.call(operator, { url: VM });
    const stale = await world.call(operator, { method: 'DELETE', url: VM, headers: { 'if-match': '"1"' } });
    expect(stale.json()).toMatchObject({ status: 412, code: 'revision-mismatch' });
    const right = await world.call(operator, {
      method: 'DELETE',
      url: VM,
      headers: { 'if-match': String(headers.etag) },
    });
    expect(right.statusCode).toBe(202);
    expect(right.headers.location).toBe(`/api/v1/operations/${right.json<{ operation: string }>().operation}`);
  });

  test.each([
    ['site=central', ['vm-1']],
    ['site=north', []],
    ['host=central-0&state=active&flavor=small&group=web&project=default', ['vm-1']],
    ['group=other', []],
    ['state=error', []],
  ])('is-listed-by %s', async (query, names) => {
    const listed = await world.call(operator, { url: `/api/v1/instances?${query}` });
    expect(listed.json<{ items: { name: string }[] }>().items.map(({ name }) => name)).toEqual(names);
  });

  test('that-found-no-host shows each stage in words', async () => {
    const vm = world.journal.fleet.get(INSTANCE, idOf(INSTANCE, 'vm-1'));
    const stages = [
      { filter: 'zone', before: 6, after: 0, cause: 'wrong-zone', facts: { zone: 'mars' } },
      { filter: 'traits', before: 0, after: 0 },
    ];
    const fault = { code: 'no-valid-host', message: 'No host fits.', atMs: 1, report: { hosts: 6, stages } };
    await world.commit(put(INSTANCE, idOf(INSTANCE, 'vm-1'), { ...vm!.doc, state: 'error', fault }));
    const shown = (await world.call(operator, { url: VM })).json<{ fault: { report: { stages: object[] } } }>();
    expect(shown.fault.report.stages).toEqual([
      { ...stages[0], sentence: '6 of 6 hosts: not in zone mars.' },
      stages[1],
    ]);
  });
});

describe('requesting instances', () => {
  test('a-repetition-makes-no-second-one', async () => {
    const key = { 'idempotency-key': 'once' };
    const first = await post(operator, '/api/v1/instances', { ...REQUEST, count: 2 }, key);
    expect(first.statusCode).toBe(202);
    const again = await post(operator, '/api/v1/instances', { ...REQUEST, count: 2 }, key);
    expect(again.body).toBe(first.body);
    expect(world.journal.fleet.count(INSTANCE)).toBe(3);
  });

  test('more-traits-together-than-an-instance-may-have-are-refused, not a fault of ours', async () => {
    const requiredTraits = Array.from({ length: 64 }, (_, at) => `a${at}`);
    const flavor = { name: 'picky', vcpus: 1, memoryMiB: 1, diskGiB: 0, requiredTraits };
    expect((await post(operator, '/api/v1/flavors', flavor)).statusCode).toBe(201);
    const request = { flavor: 'picky', networks: 'none', requiredTraits: ['one-more'] };
    const refused = await post(operator, '/api/v1/instances', request);
    expect(refused.json()).toMatchObject({ status: 422, code: 'too-many-traits', field: '/requiredTraits' });
    const endless = await post(operator, '/api/v1/flavors', { ...flavor, name: 'endless', resources: { gpu: 1e300 } });
    expect(endless.json()).toMatchObject({ status: 400, field: '/resources/gpu' });
  });

  test('a-preview-leaves-nothing, and names hosts to operators alone', async () => {
    const { revision } = world.journal.fleet;
    const request = { ...REQUEST, name: 'web', count: 2 };
    const preview = (secret: string) => post(secret, '/api/v1/instances/preview', request, { 'idempotency-key': 'k' });
    const places = [
      { name: 'web-1', host: expect.any(String) as string, pools: ['segment:rack'] },
      { name: 'web-2', host: expect.any(String) as string, pools: ['segment:rack'] },
    ];
    expect((await preview(operator)).json()).toEqual({ count: 2, placed: 2, places });
    expect(world.journal.fleet.revision).toBe(revision);
    expect((await preview(await world.token('viewer'))).json()).toEqual({ count: 2, placed: 2 });
  });

  test('a-preview-is-refused-for-what-the-request-would-be', async () => {
    const unknown = await post(operator, '/api/v1/instances/preview', { flavor: 'huge' });
    expect(unknown.json()).toMatchObject({ status: 422, code: 'unknown-flavor', field: '/flavor' });
    const odd = await post(operator, '/api/v1/instances/preview', { ...REQUEST, count: 1, minCount: 2 });
    expect(odd.json()).toMatchObject({ status: 422, code: 'minimum-above-count', field: '/minCount' });
  });

  test('a-server-that-does-not-decide-passes-a-preview-on', async () => {
    // A lease names the address of its holder, which is known once it listens.
    const holder = await startApiTestServer({ leads: false });
    await takeLease(holder, await holder.server.listen({ host: '127.0.0.1', port: 0 }));
    await populate(holder);
    await holder.commit(...sampleNetwork());
    const secret = await holder.token('operator');
    const other = await startApiTestServer({ disk: holder.disk, clock: holder.clock, leads: false });
    await other.journal.waitForRevision(holder.journal.fleet.revision, 2000);
    const answer = await other.call(secret, { method: 'POST', url: '/api/v1/instances/preview', payload: REQUEST });
    expect(answer.json()).toMatchObject({ count: 1, placed: 1 });
    await holder.close();
    await other.close();
  });
});

describe('a caller that is bound to a site', () => {
  const bound = (site: string) => world.token('operator', { site });

  test('sees-the-operation-that-it-started', async () => {
    const central = await bound('central');
    for (const [url, body] of [
      ['/api/v1/instances', REQUEST],
      [`${VM}/move`, {}],
    ] as const) {
      const { operation } = (await post(central, url, body)).json<{ operation: string }>();
      expect(world.journal.fleet.get(OPERATION, idOf(OPERATION, operation))?.doc.site).toBe('central');
      expect((await world.call(central, { url: `/api/v1/operations/${operation}` })).statusCode).toBe(200);
    }
  });

  test('sends-nothing-out-of-its-site: neither to a host elsewhere nor, by its operation, to wherever there is room', async () => {
    const central = await bound('central');
    const away = await post(central, `${VM}/move`, { host: 'north-0' });
    expect(away.json()).toMatchObject({ status: 403, code: 'other-site', field: '/host' });
    const vm = world.journal.fleet.get(INSTANCE, idOf(INSTANCE, 'vm-1'));
    await world.commit(put(INSTANCE, idOf(INSTANCE, 'vm-1'), { ...vm!.doc, place: {} }));
    const { operation } = (await post(central, `${VM}/move`)).json<{ operation: string }>();
    expect(world.journal.fleet.get(OPERATION, idOf(OPERATION, operation))?.doc).toMatchObject({ within: 'central' });
  });

  test('gets-its-instances-in-its-site', async () => {
    const north = await bound('north');
    const { instances } = (await post(north, '/api/v1/instances', REQUEST)).json<{ instances: string[] }>();
    const made = world.journal.fleet.get(INSTANCE, idOf(INSTANCE, instances[0] ?? ''));
    expect(made?.doc.place.site).toBe('north');
    expect(made?.doc.host).toMatch(/^north-/);
  });
});

describe('quotas', () => {
  test('are-shown-with-what-is-used, one and all', async () => {
    // Its own port, and those that the router and the floating address have their addresses from.
    const used = { instances: 1, vcpus: 1, memoryMiB: 64, ports: 3 };
    expect((await world.call(operator, { url: '/api/v1/quotas/default' })).json()).toMatchObject({
      instances: 100,
      used,
    });
    expect((await world.call(operator, { url: '/api/v1/quotas' })).json()).toMatchObject({ items: [{ used }] });
  });
});

test('gates-say-how-far-the-hosts-are', async () => {
  const gates = await world.call(operator, { url: '/api/v1/gates' });
  expect(gates.json()).toEqual({
    minimumVersion: 1,
    create: { open: false, needs: 2, below: 6 },
    bind: { open: false, needs: 3, below: 6 },
    credentials: false,
    path: { create: 'host', bind: 'host' },
  });
});
