// Names are ids of the whole fleet. A caller that is bound to one site requests names to learn what is in the others: the answer says that a
// name cannot be had, and nothing else; it is stopped after a few; and it is on record.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Route } from '../../src/access/index.ts';
import { TABLE } from '../api/every-route.ts';
import { sampleNetwork } from '../api/sample-network.ts';
import { nodeChange, sampleNodes } from '../api/sample-nodes.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

let world: ApiTestServer;
let admin: string;
/** Bound to site north; everything that is probed for is in site central. */
let north: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  admin = await world.token('admin');
  await world.commit(...sampleNetwork(), ...sampleNodes());
  north = await world.token('admin', { site: 'north', name: 'north-operator' });
});

afterEach(async () => {
  await world.close();
});

/** Every route that makes something by a name and lets a site-bound caller in, with a body that requests one. */
const BODIES: Readonly<Record<string, (name: string) => object>> = {
  'POST /api/v1/hosts': (name) => ({ hosts: [{ name: 'free-1' }, { name }] }),
  'POST /api/v1/scale-out': (name) => ({ hosts: [{ name }] }),
  'POST /api/v1/instances': (name) => ({ name, flavor: 'small', networks: 'none' }),
  'POST /api/v1/instances/preview': (name) => ({ name, flavor: 'small', networks: 'none' }),
  'POST /api/v1/nodes': (name) => ({ name }),
  'POST /api/v1/nodes/bulk': (name) => ({ name }),
};
const FIELDS: Readonly<Record<string, string>> = {
  'POST /api/v1/hosts': '/hosts/1/name',
  'POST /api/v1/scale-out': '/hosts/0/name',
  'POST /api/v1/nodes/bulk': '/lines/1/name',
};

const keyOf = ({ method, path }: Route): string => `${method} ${path}`;

async function ask(route: string, name: string, secret = north) {
  const [method, url] = route.split(' ') as ['POST', string];
  const payload = BODIES[route]!(name);
  if (!url.endsWith('/bulk')) return world.call(secret, { method, url, payload });
  const headers = { 'content-type': 'application/x-ndjson' };
  return world.call(secret, { method, url, payload: JSON.stringify(payload), headers });
}

/** What is taken in site central, for each kind of thing. */
function takenName(route: string): string {
  if (route.includes('nodes')) return 'node-1';
  return route.includes('instances') ? 'vm-1' : 'central-0';
}

describe('a name that is taken in another site', () => {
  test('these are all routes that make something by a name and let site-bound callers in', () => {
    const routes = world.server.routes.filter(({ scope, kind, method, path }) => {
      return (
        scope === 'site' &&
        method === 'POST' &&
        // These name in their path what is there.
        !/:id|:manager/.test(path) &&
        (kind === 'write' || kind === 'bulk' || path.endsWith('/preview'))
      );
    });
    // Scale-in names what is there already: see below. A reservation has the name of an instance that is there, or of none.
    const creating = routes.filter(
      ({ path }) => !/^\/api\/v1\/(?:scale-in\/|reservations$)|^\/restconf\/operations\//.test(path),
    );
    expect(creating.map(keyOf).toSorted()).toEqual(Object.keys(BODIES).toSorted());
    expect(creating.filter(({ asksForNames }) => asksForNames !== true)).toEqual([]);
    // A resource whose name is its id is protected before it is opened to sites.
    const named = world.server.routes.filter(
      (route) =>
        route.kind === 'write' && route.method === 'POST' && Object.hasOwn(TABLE[keyOf(route)]?.body ?? {}, 'name'),
    );
    const unprotected = named.filter(({ asksForNames, scope }) => asksForNames !== true && scope === 'site');
    expect(unprotected).toEqual([]);
  });

  test.each(Object.keys(BODIES))('%s answers only that the name cannot be had', async (route) => {
    const name = takenName(route);
    const refused = await ask(route, name);
    const { requestId: _, ...body } = refused.json<Record<string, unknown>>();
    expect(body).toEqual({
      type: 'urn:muster:problem:name-unavailable',
      title: 'Conflict',
      status: 409,
      code: 'name-unavailable',
      detail: 'This name is not available. Choose another one.',
      field: FIELDS[route] ?? '/name',
    });
    // Not even what state it is in: a removed host keeps its name.
    if (route.includes('instances')) return;
    const removed = { site: 'central', state: 'removed' as const };
    await world.commit(route.includes('nodes') ? nodeChange(name, removed) : hostChange(name, removed));
    expect((await ask(route, name)).json()).toMatchObject(body);
  });

  test.each(Object.keys(BODIES))('%s is shown to callers that see that site', async (route) => {
    const name = takenName(route);
    const { code } = (await ask(route, name, admin)).json<{ code?: string }>();
    // Of many nodes each is as its line says afterwards.
    if (route.endsWith('/bulk')) expect(code).toBe(undefined);
    else if (route.includes('nodes')) expect(code).toBe('node-exists');
    else expect(code).toBe(route.includes('instances') ? 'name-taken' : 'host-exists');
  });

  test.each([
    ['POST /api/v1/scale-in/start', (name: string) => ({ hosts: [name] })],
    ['POST /api/v1/scale-in/end', (name: string) => ({ hosts: [name] })],
    ['POST /api/v1/scale-in/recover', (name: string) => ({ hosts: [name] })],
    ['POST /api/v1/scale-in/preview', (name: string) => ({ hosts: [name] })],
    ...['start', 'end', 'recover'].map(
      (verb) =>
        [
          `POST /restconf/operations/scalein-api:scalein-computes-${verb}`,
          (name: string) => ({ input: { [`${verb === 'recover' ? verb : 'scalein'}-node-ids`]: [name] } }),
        ] as const,
    ),
    ['POST /api/v1/instances', (name: string) => ({ name: 'x', flavor: 'small', networks: 'none', host: name })],
    [
      'POST /api/v1/instances/preview',
      (name: string) => ({ name: 'x', flavor: 'small', networks: 'none', host: name }),
    ],
  ] as const)('%s answers for a host of another site as for one that there is not', async (route, bodyOf) => {
    const [method, url] = route.split(' ') as ['POST', string];
    const answers = await Promise.all(
      ['central-0', 'absent-0'].map(async (name) => {
        const { statusCode, body } = await world.call(north, { method, url, payload: bodyOf(name) });
        return { statusCode, body: body.replaceAll(name, 'X').replace(/"requestId":"[^"]*"/, '') };
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.statusCode).toBe(404);
  });
});

describe('a caller who tries out names', () => {
  test('is stopped after ten, for free names too, and only for a time', async () => {
    for (let count = 0; count < 10; count += 1) {
      expect((await ask('POST /api/v1/scale-out', 'central-0')).json()).toMatchObject({ code: 'name-unavailable' });
    }
    for (const route of Object.keys(BODIES)) {
      const stopped = await ask(route, 'free-name');
      expect(stopped.json()).toMatchObject({ status: 429, code: 'too-many-name-probes' });
      expect(Number(stopped.headers['retry-after'])).toBeGreaterThan(500);
    }
    // Other callers continue, and so does everything that makes nothing.
    const other = await world.token('operator', { site: 'north' });
    expect((await ask('POST /api/v1/scale-out', 'free-name', other)).statusCode).toBe(202);
    expect((await world.call(north, { method: 'GET', url: '/api/v1/hosts' })).statusCode).toBe(200);
    world.clock.ahead(10 * 60_000);
    expect((await ask('POST /api/v1/scale-out', 'another-free-name')).statusCode).toBe(202);
  });

  test('is on record, with the name that was requested', async () => {
    await ask('POST /api/v1/hosts', 'central-0');
    const line = world
      .logged()
      .split('\n')
      .find((text) => text.includes('"name-unavailable"'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      msg: 'refused',
      by: 'north-operator',
      site: 'north',
      code: 'name-unavailable',
      route: '/api/v1/hosts',
      asked: 'central-0',
    });
  });
});

describe('a tunnel address that a host of another site has', () => {
  const taken = '192.0.2.77';
  const askFor: Readonly<Record<string, (secret: string) => ReturnType<ApiTestServer['call']>>> = {
    join: (secret) =>
      world.call(secret, {
        method: 'POST',
        url: '/api/v1/hosts',
        payload: { hosts: [{ name: 'n-new', site: 'north', tunnelAddress: taken }] },
      }),
    'scale-out': (secret) =>
      world.call(secret, {
        method: 'POST',
        url: '/api/v1/scale-out',
        payload: { hosts: [{ name: 'n-new', site: 'north', tunnelAddress: taken }] },
      }),
    edit: (secret) =>
      world.call(secret, { method: 'PATCH', url: '/api/v1/hosts/n-1', payload: { tunnelAddress: taken } }),
  };

  beforeEach(() =>
    world.commit(
      hostChange('central-tep', { site: 'central', tunnelAddress: taken }),
      hostChange('n-1', { site: 'north' }),
    ),
  );

  test.each(Object.keys(askFor))('%s: not by whom, and after ten nothing more', async (verb) => {
    const refused = await askFor[verb]!(north);
    expect(refused.json()).toMatchObject({ status: 409, code: 'tunnel-address-unavailable' });
    expect(refused.body).not.toMatch(/central/);
    for (let count = 0; count < 9; count += 1) await askFor[verb]!(north);
    expect((await askFor[verb]!(north)).json()).toMatchObject({ status: 429, code: 'too-many-name-probes' });
  });

  test.each(Object.keys(askFor))('%s: by name to whoever sees that site', async (verb) => {
    const refused = (await askFor[verb]!(admin)).json<{ detail: string; code: string }>();
    expect(refused).toMatchObject({ status: 409, code: 'tunnel-address-taken' });
    expect(refused.detail).toContain('Host "central-tep" has the tunnel address 192.0.2.77.');
  });
});
