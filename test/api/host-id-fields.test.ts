// Whatever field of a route names a host takes every id of it, and answers as it does to its name. A route that gets such a field
// gets a row here.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/access/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { hostFieldsOf } from '../../src/hosts/index.ts';
import { newOperation, OPERATION } from '../../src/operations/index.ts';
import { keyOf, prepareServer, type PreparedServer } from './every-route.ts';
import { hostChange } from './api-test-server.ts';

const NAME = 'central-0';
const BRIDGE = '6f0f3a5e-7d0c-4c43-9f1e-2f8d5b7a1c11';
const SWITCH = { datapathId: 'fffffffffffffffe', systemId: 'sys-77', bridge: BRIDGE };
const FORMS = [
  'sys-77',
  'fffffffffffffffe',
  '0xFFFFFFFFFFFFFFFE',
  'ff:ff:ff:ff:ff:ff:ff:fe',
  'openflow:18446744073709551614',
  `ovsdb://uuid/${BRIDGE}/bridge/br-int`,
];

const get = (url: string): InjectOptions => ({ method: 'GET', url });
const post = (url: string, payload: object): InjectOptions => ({ method: 'POST', url, payload });
const place = { flavor: 'small', networks: 'none', site: 'central' };
let named = 0;

interface Row {
  readonly ask: (host: string) => InjectOptions;
  /** What the answer to the name has, so that equal answers show something; undefined for one that is accepted. */
  readonly has?: string | RegExp;
  /** What was made, for a write that makes something each time. */
  readonly made?: (answer: Record<string, unknown>) => { readonly url: string; readonly has: object };
}

const RESTCONF = '/restconf/data';
/** By route and field. */
const TABLE: Readonly<Record<string, Row>> = {
  'GET /api/v1/instances host': { ask: (host) => get(`/api/v1/instances?host=${encode(host)}`), has: '"vm-1"' },
  'GET /api/v1/managers host': { ask: (host) => get(`/api/v1/managers?host=${encode(host)}`), has: '"items":[]' },
  'GET /api/v1/ports host': { ask: (host) => get(`/api/v1/ports?host=${encode(host)}`), has: '"port-1"' },
  'GET /api/v1/services host': { ask: (host) => get(`/api/v1/services?host=${encode(host)}`), has: '"nat:edge"' },
  'GET /api/v1/tokens host': { ask: (host) => get(`/api/v1/tokens?host=${encode(host)}`), has: '"join"' },
  'GET /api/v1/operation-items host': {
    ask: (host) => get(`/api/v1/operation-items?host=${encode(host)}`),
    has: '"op-2"',
  },
  'GET /api/v1/operation-items target': {
    ask: (host) => get(`/api/v1/operation-items?target=${encode(`host/${host}`)}`),
    has: '"await-agent"',
  },
  'GET /api/v1/operations/:id/items host': {
    ask: (host) => get(`/api/v1/operations/op-2/items?host=${encode(host)}`),
    has: '"op-2"',
  },
  'GET /api/v1/history id': {
    ask: (host) => get(`/api/v1/history?kind=host&id=${encode(host)}`),
    has: '"kind":"host","id":"central-0"',
  },
  'GET /restconf/data/network-topology::network-topology/topology=:topology/node=:node node': {
    ask: (host) => get(`${RESTCONF}/network-topology:network-topology/topology=ovsdb:1/node=${encode(host)}`),
    has: 'central-0',
  },
  'GET /restconf/data/opendaylight-inventory::nodes/node=:node node': {
    ask: (host) => get(`${RESTCONF}/opendaylight-inventory:nodes/node=${encode(host)}`),
    has: 'openflow:18446744073709551614',
  },
  'GET /api/v1/scale-in host': { ask: (host) => get(`/api/v1/scale-in?host=${encode(host)}`), has: '"hosts":[]' },
  'GET /api/v1/scale-in/blocked host': {
    ask: (host) => get(`/api/v1/scale-in/blocked?host=${encode(host)}`),
    has: '"blocked":[]',
  },
  'POST /api/v1/services/:id/move host': {
    ask: (host) => post('/api/v1/services/nat:edge/move', { host }),
    has: 'central-0',
  },
  'POST /api/v1/instances/:id/move host': {
    ask: (host) => post('/api/v1/instances/vm-1/move', { kind: 'live', host }),
    has: 'central-0',
  },
  'POST /api/v1/instances/preview host': {
    ask: (host) => post('/api/v1/instances/preview', { ...place, name: 'made', host }),
    has: /"placed":1/,
  },
  'POST /api/v1/instances host': {
    ask: (host) => post('/api/v1/instances', { ...place, name: `made-${(named += 1)}`, host }),
    made: () => ({ url: `/api/v1/instances/made-${named}`, has: { place: { onlyHost: NAME } } }),
  },
  'POST /api/v1/clusters/:id/workers/add host': {
    ask: (host) => post('/api/v1/clusters/edge/workers/add', { flavor: 'small', networks: 'none', host }),
    made: ({ operation }) => ({ url: `/api/v1/operations/${String(operation)}`, has: { kind: 'worker-add' } }),
  },
  'POST /api/v1/tokens host': {
    ask: (host) => post('/api/v1/tokens', { name: `made-${(named += 1)}`, role: 'join', host }),
    made: ({ id }) => ({ url: `/api/v1/tokens/${String(id)}`, has: { host: NAME } }),
  },
  'POST /api/v1/simulated-network/faults host': {
    ask: (host) => post('/api/v1/simulated-network/faults', { op: 'bind', outcome: 'binding-failed', host }),
    made: () => ({
      url: '/api/v1/simulated-network/faults',
      has: { items: expect.arrayContaining([expect.objectContaining({ host: NAME })]) as unknown },
    }),
  },
};

const encode = encodeURIComponent;
/** An agent says its own name when it joins; a host that is made has no other id yet. */
/** A joining agent and a manager name their own host as it is called; nodes of bare metal are no hosts. */
const OWN_NAMES = [
  'GET /api/v1/reservations node',
  'GET /api/v1/simulated-inventory/calls node',
  'POST /api/v1/agent/join host',
  'POST /api/v1/managers/:manager/answers node',
  'POST /api/v1/simulated-inventory/faults node',
  'PUT /api/v1/managers/:manager host',
];

/** Tokens by which workers join are kept sealed. */
const keyFolder = mkdtempSync(join(tmpdir(), 'muster-keys-'));

let it: PreparedServer;
let admin: string;

beforeAll(async () => {
  it = await prepareServer({ secretsIn: keyFolder });
  admin = it.secrets.get('admin') ?? '';
  const items = [{ key: 'vm-1', target: { kind: 'instance', id: 'vm-1' }, step: 'spawn', host: NAME }];
  const request = { kind: 'instance-build', title: 't', by: 'test', site: 'central', nowMs: 1, deadlineMs: 10 ** 12 };
  await it.world.commit(
    hostChange(NAME, { site: 'central', switch: SWITCH }),
    ...newOperation({ id: idOf(OPERATION, 'op-2'), ...request, items }),
  );
});

afterAll(async () => {
  await it.world.close();
  rmSync(keyFolder, { recursive: true });
});

/** Without what is another in every answer. */
async function ask(
  secret: string,
  request: InjectOptions,
): Promise<{ readonly status: number; readonly body: string }> {
  const { statusCode, body } = await it.world.call(secret, request);
  return { status: statusCode, body: body.replaceAll(/"(?:instance|requestId)":"[^"]*"/g, '') };
}

const under = (route: Route): string[] =>
  hostFieldsOf(route)
    .filter(() => !route.path.startsWith('/api/v1/hosts/:id'))
    .map(({ field }) => `${keyOf(route)} ${field}`);

test('every-field-that-names-a-host-takes-all-ids-and-has-a-row', () => {
  const { routes } = it.world.server;
  expect(routes.flatMap(under).sort()).toEqual(Object.keys(TABLE).sort());
  const called = routes.flatMap((route) =>
    [route.params, route.query, route.body].flatMap((schema) =>
      Object.keys(schema !== undefined && 'properties' in schema ? (schema.properties as object) : {})
        .filter((field) => /^(?:host|node)$/.test(field))
        .map((field) => `${keyOf(route)} ${field}`),
    ),
  );
  expect(called.filter((field) => TABLE[field] === undefined).sort()).toEqual(OWN_NAMES);
});

describe.each(Object.keys(TABLE))('%s', (key) => {
  test('takes-every-id', async () => {
    const { ask: request, has, made } = TABLE[key]!;
    const byName = await ask(admin, request(NAME));
    if (has !== undefined) expect(byName.body).toMatch(has);
    for (const form of FORMS) {
      const answer = await ask(admin, request(form));
      if (made === undefined) expect(answer).toEqual(byName);
      else {
        expect([form, answer.status]).toEqual([form, byName.status]);
        const { url, has: held } = made(JSON.parse(answer.body) as Record<string, unknown>);
        expect((await it.world.call(admin, get(url))).json()).toMatchObject(held);
      }
    }
  });

  test('an-id-that-several-have-is-refused-with-their-names', async () => {
    await it.world.commit(
      hostChange('central-1', { site: 'central', switch: { systemId: 'twin' } }),
      hostChange('north-1', { site: 'north', switch: { systemId: 'twin' } }),
    );
    const { status, body } = await ask(admin, TABLE[key]!.ask('twin'));
    expect([status, body]).toEqual([409, expect.stringMatching(/central-1, north-1/)]);
    await it.world.commit(hostChange('central-1', { site: 'central' }), hostChange('north-1', { site: 'north' }));
  });
});

test('never: a caller of a site or a project learns of a host elsewhere by its ids', async () => {
  const { world } = it;
  await world.commit(
    hostChange('central-1', { site: 'central', switch: { systemId: 'twin' } }),
    hostChange('central-2', { site: 'central', switch: { systemId: 'twin' } }),
    hostChange('north-1', { site: 'north', switch: { systemId: 'twin' } }),
    hostChange('north-2', { site: 'north', switch: { systemId: 'lone' } }),
  );
  const inSite = await world.token('viewer', { site: 'central' });
  const items = '/api/v1/instances?host=';
  const { status, body } = await ask(inSite, get(`${items}twin`));
  expect([status, body]).toEqual([409, expect.stringContaining('central-1, central-2')]);
  expect(body).not.toContain('north');
  expect(await ask(inSite, get(`${items}lone`))).toEqual(await ask(inSite, get(`${items}absent`)));
  const inProject = await world.token('viewer', { project: 'default' });
  for (const form of ['twin', 'lone', 'sys-77'])
    expect(await ask(inProject, get(`${items}${form}`))).toEqual(await ask(inProject, get(`${items}absent`)));
});
