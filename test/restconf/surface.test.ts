// The RESTCONF surface as a client sees it: discovery, the trees, the operations, and every way to be refused.
import { expect, onTestFinished, test } from 'vitest';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

const YANG = 'application/yang-data+json';
const ANSWER_TYPE = `${YANG}; charset=utf-8`;
const UUID = 'b8f2c6f0-5f0e-4b1c-9a3e-0c2d4e6f8a10';
const DATAPATH = 'fedcba9876543210';

async function prepared(): Promise<ApiTestServer & { readonly secret: string }> {
  const world = await startApiTestServer();
  onTestFinished(() => world.close());
  await populate(world);
  const identity = { datapathId: DATAPATH, systemId: 'sys-0', bridge: UUID };
  await world.commit(
    hostChange('central-0', { switch: identity }),
    hostChange('north-0', { site: 'north', state: 'removed' }),
  );
  return { ...world, secret: await world.token('operator') };
}

const get = async (world: ApiTestServer & { readonly secret: string }, url: string) => {
  const answer = await world.call(world.secret, { url: `/restconf${url}` });
  return { status: answer.statusCode, type: answer.headers['content-type'], body: answer.json<never>() as unknown };
};

const post = async (world: ApiTestServer & { readonly secret: string }, rpc: string, payload: string, type = YANG) => {
  const url = `/restconf/operations/scalein-api:${rpc}`;
  const answer = await world.call(world.secret, { method: 'POST', url, headers: { 'content-type': type }, payload });
  return { status: answer.statusCode, body: answer.json<{ 'ietf-restconf:errors'?: { error: object[] } }>() };
};

const firstError = (answer: Awaited<ReturnType<typeof post>>): unknown => answer.body['ietf-restconf:errors']?.error[0];

test('a-client-finds-the-root-and-what-there-is', async () => {
  const world = await prepared();
  const meta = await world.server.app.inject({ url: '/.well-known/host-meta' });
  expect([meta.statusCode, meta.headers['content-type']]).toEqual([200, 'application/xrd+xml']);
  expect(meta.body).toContain("href='/restconf'");
  expect(await get(world, '')).toMatchObject({
    status: 200,
    type: ANSWER_TYPE,
    body: { 'ietf-restconf:restconf': { 'yang-library-version': '2019-01-04' } },
  });
  expect((await get(world, '/operations')).body).toEqual({
    'ietf-restconf:operations': {
      'scalein-api:scalein-computes-start': [null],
      'scalein-api:scalein-computes-end': [null],
      'scalein-api:scalein-computes-recover': [null],
    },
  });
});

test('the-library-names-the-module-and-its-location-serves-it', async () => {
  const world = await prepared();
  const { body } = await get(world, '/data/ietf-yang-library:yang-library');
  const library = (body as Record<string, { 'module-set': { module: { name: string; location: string[] }[] }[] }>)[
    'ietf-yang-library:yang-library'
  ];
  const module = library?.['module-set'][0]?.module[0];
  expect(module?.name).toBe('scalein-api');
  const text = await world.call(world.secret, { url: module?.location[0] ?? '' });
  expect([text.statusCode, text.headers['content-type']]).toEqual([200, 'application/yang']);
  expect(text.body).toContain('module scalein-api {');
  expect(await get(world, '/modules/other.yang')).toMatchObject({ status: 404 });
});

test('a-tombstoned-host-carries-the-key-and-others-do-not', async () => {
  const world = await prepared();
  const node = '/data/network-topology:network-topology/topology=ovsdb:1/node=';
  const id = encodeURIComponent(`ovsdb://uuid/${UUID}/bridge/br-int`);
  const before = await get(world, `${node}${id}`);
  expect(before.body).toEqual({
    'network-topology:node': [
      {
        'node-id': `ovsdb://uuid/${UUID}/bridge/br-int`,
        'ovsdb:bridge-name': 'br-int',
        'ovsdb:datapath-id': 'fe:dc:ba:98:76:54:32:10',
        'ovsdb:bridge-other-configs': [
          { 'bridge-other-config-key': 'dp-desc', 'bridge-other-config-value': 'central-0' },
        ],
        'ovsdb:bridge-external-ids': [{ 'bridge-external-id-key': 'system-id', 'bridge-external-id-value': 'sys-0' }],
      },
    ],
  });
  const started = await post(world, 'scalein-computes-start', '{"input":{"scalein-node-ids":["central-0"]}}');
  expect(started).toMatchObject({ status: 200 });
  for (const form of [id, 'central-0', DATAPATH, 'openflow:18364758544493064720', 'sys-0']) {
    const { body } = await get(world, `${node}${form}`);
    expect(JSON.stringify(body)).toContain('"bridge-external-id-key":"tombstoned","bridge-external-id-value":"true"');
  }
  expect(JSON.stringify((await get(world, `${node}central-1`)).body)).not.toContain('tombstoned');
});

test('the-inventory-has-all-64-bits-of-a-datapath-id-and-no-removed-host', async () => {
  const world = await prepared();
  expect((await get(world, '/data/opendaylight-inventory:nodes')).body).toEqual({
    'opendaylight-inventory:nodes': { node: [{ id: 'openflow:18364758544493064720' }] },
  });
  expect((await get(world, '/data/opendaylight-inventory:nodes/node=openflow:18364758544493064720')).body).toEqual({
    'opendaylight-inventory:node': [{ id: 'openflow:18364758544493064720' }],
  });
  const all = JSON.stringify((await get(world, '/data/network-topology:network-topology')).body);
  expect(all).toContain('central-2');
  expect(all).not.toContain('north-0');
});

test.each([
  ['no-body', '', 400, 'missing-element'],
  ['no-list', '{"scalein-api:input":{}}', 400, 'missing-element'],
  ['an-empty-list', '{"scalein-api:input":{"scalein-node-ids":[]}}', 400, 'missing-element'],
  ['another-leaf', '{"scalein-api:input":{"scalein-compute-names":["a"]}}', 400, 'unknown-element'],
  ['a-number', '{"scalein-api:input":{"scalein-node-ids":[7]}}', 400, 'invalid-value'],
  ['no-json', '{"scalein-api:input":', 400, 'malformed-message'],
  ['an-unknown-host', '{"scalein-api:input":{"scalein-node-ids":["central-0","x1","x2"]}}', 404, 'invalid-value'],
])('start is refused, and no host is marked: %s', async (_name, payload, status, tag) => {
  const world = await prepared();
  const before = world.journal.fleet.revision;
  const answer = await post(world, 'scalein-computes-start', payload);
  expect(answer.status).toBe(status);
  expect(firstError(answer)).toMatchObject({ 'error-tag': tag });
  expect(JSON.stringify(firstError(answer))).toMatch(/"error-message":"[A-Z/]/);
  expect(world.journal.fleet.revision).toBe(before);
});

test('every-unknown-host-has-an-error-of-its-own', async () => {
  const world = await prepared();
  const payload = '{"scalein-api:input":{"scalein-node-ids":["central-0","x1","x2"]}}';
  const { body } = await post(world, 'scalein-computes-start', payload);
  const messages = JSON.stringify(body);
  expect(messages).toMatch(/x1/);
  expect(messages).toMatch(/x2/);
});

test('each-error-has-the-tag-and-the-path-of-its-own-node', async () => {
  const world = await prepared();
  const { body } = await post(world, 'scalein-computes-end', '{"input":{"scalein-node-ids":["central-0","x1"]}}');
  const path = '/scalein-api:input/scalein-node-ids';
  expect(body['ietf-restconf:errors']?.error).toEqual([
    expect.objectContaining({ 'error-app-tag': 'unknown-host', 'error-path': path }),
    expect.objectContaining({
      'error-app-tag': 'wrong-state',
      'error-tag': 'in-use',
      'error-path': `${path}[.='central-0']`,
    }),
    expect.objectContaining({
      'error-app-tag': 'unknown-host',
      'error-tag': 'invalid-value',
      'error-path': `${path}[.='x1']`,
    }),
  ]);
});

test.each([
  ['{"input":{"node-ids":["a"]}}', '/scalein-api:input/node-ids'],
  ['{"scalein-api:input":{"scalein-api:scalein-node-ids":[1]}}', '/scalein-api:input/scalein-node-ids[1]'],
  ['{"input":{"scalein-node-ids":["a"],"scalein-node-ids":["b"]}}', '/scalein-api:input/scalein-node-ids'],
])('what-is-wrong-with-an-input-is-named-by-its-path %s', async (payload, path) => {
  const world = await prepared();
  const answer = await post(world, 'scalein-computes-start', payload);
  expect(answer.status).toBe(400);
  expect(firstError(answer)).toMatchObject({ 'error-path': path });
});

test('a-field-that-is-there-twice-is-a-malformed-message', async () => {
  const world = await prepared();
  const payload = '{"input":{"scalein-node-ids":["a"]},"input":{"scalein-node-ids":["central-0"]}}';
  const answer = await post(world, 'scalein-computes-start', payload);
  expect([answer.status, firstError(answer)]).toEqual([
    400,
    expect.objectContaining({ 'error-tag': 'malformed-message', 'error-app-tag': 'duplicate-field' }),
  ]);
});

test('a-colon-in-a-path-may-be-escaped', async () => {
  const world = await prepared();
  for (const escaped of ['%3A', '%3a']) {
    const node = `/data/network-topology${escaped}network-topology/topology=ovsdb${escaped}1/node=central-0`;
    expect((await get(world, node)).status).toBe(200);
    expect((await get(world, `/data/ietf-yang-library${escaped}yang-library`)).status).toBe(200);
    const long = `ovsdb%3A%2F%2Fuuid%2F${UUID}%2Fbridge%2Fbr-int`;
    expect((await get(world, `/data/opendaylight-inventory${escaped}nodes/node=${long}`)).status).toBe(200);
    const url = `/restconf/operations/scalein-api${escaped}scalein-computes-start`;
    const payload = { input: { 'scalein-node-ids': ['central-0'] } };
    expect((await world.call(world.secret, { method: 'POST', url, payload })).statusCode).toBe(200);
  }
});

test('the-datastore-is-everything-below-it, and is not written to', async () => {
  const world = await prepared();
  const answer = await world.call(world.secret, { url: '/restconf/data' });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, ANSWER_TYPE]);
  expect(answer.headers['etag']).toMatch(new RegExp(`^"${world.journal.fleet.revision}-`));
  const data = answer.json<Record<string, Record<string, unknown>>>()['ietf-restconf:data'] ?? {};
  for (const [name, body] of Object.entries(data)) {
    expect((await get(world, `/data/${name}`)).body).toEqual({ [name]: body });
  }
  expect(Object.keys(data)).toHaveLength(3);
  const put = await world.call(world.secret, { method: 'PUT', url: '/restconf/data', payload: {} });
  expect([put.statusCode, put.headers['allow']]).toEqual([405, 'GET']);
});

test('end-of-a-host-that-never-began-to-leave-is-in-use', async () => {
  const world = await prepared();
  const answer = await post(world, 'scalein-computes-end', '{"input":{"scalein-node-ids":["central-0"]}}');
  expect(answer.status).toBe(409);
  expect(firstError(answer)).toMatchObject({ 'error-tag': 'in-use' });
});

test('what-blocks-an-end-is-said-once-and-in-words-that-hold-here', async () => {
  const world = await prepared();
  await world.commit(hostChange('central-0', { state: 'drained', connection: { state: 'up', sinceMs: 1 } }));
  const { status, body } = await post(world, 'scalein-computes-end', '{"input":{"scalein-node-ids":["central-0"]}}');
  expect(status).toBe(409);
  const [, own] = body['ietf-restconf:errors']?.error ?? [];
  expect(own).toMatchObject({
    'error-message':
      'central-0: Host central-0 is still connected. Stop its agent, wait until the host is down, and ask again.',
  });
  expect(JSON.stringify(body)).not.toContain('--disconnect');
});

test.each([
  ['PUT', YANG, '{"network-topology:node":[]}'],
  ['PATCH', 'application/json', '{'],
  ['POST', 'application/yang-data+xml', '<node/>'],
  ['DELETE', YANG, ''],
] as const)('data-takes-no-%s, whatever is sent with it (%s)', async (method, type, payload) => {
  const world = await prepared();
  const url = '/restconf/data/network-topology:network-topology/topology=ovsdb:1/node=central-0';
  const sent = payload === '' ? {} : { headers: { 'content-type': type }, payload };
  const answer = await world.call(world.secret, { method, url, ...sent });
  expect([answer.statusCode, answer.headers['allow'], answer.headers['content-type']]).toEqual([
    405,
    'GET',
    ANSWER_TYPE,
  ]);
  expect(answer.body).toContain('"error-tag":"operation-not-supported"');
});

test('what-is-not-json-or-not-accepted-as-json-is-refused-in-the-same-words', async () => {
  const world = await prepared();
  const xml = await post(world, 'scalein-computes-start', '<input/>', 'application/yang-data+xml');
  expect([xml.status, firstError(xml)]).toEqual([
    415,
    expect.objectContaining({
      'error-tag': 'invalid-value',
      'error-message': expect.stringContaining(YANG) as string,
    }),
  ]);
  const headers = { accept: 'application/yang-data+xml' };
  const unacceptable = await world.call(world.secret, { url: '/restconf', headers });
  expect([unacceptable.statusCode, unacceptable.headers['content-type']]).toEqual([406, ANSWER_TYPE]);
  expect(unacceptable.body).toContain('"error-app-tag":"not-acceptable"');
  const nowhere = await get(world, '/data/ietf-interfaces:interfaces');
  expect(nowhere).toMatchObject({ status: 404, type: ANSWER_TYPE, body: { 'ietf-restconf:errors': { error: [{}] } } });
  const unauthenticated = await world.server.app.inject({ url: '/restconf/operations' });
  expect([unauthenticated.statusCode, unauthenticated.body]).toEqual([401, expect.stringContaining('access-denied')]);
});

test('native-routes-do-not-take-yang-data', async () => {
  const world = await prepared();
  const headers = { 'content-type': YANG };
  const answer = await world.call(world.secret, { method: 'POST', url: '/api/v1/hosts', headers, payload: '{}' });
  expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported-media-type' });
});

test('the-setting-says-whether-start-drains', async () => {
  const world = await prepared();
  const admin = await world.token('admin');
  const setting = (await world.call(admin, { url: '/api/v1/settings/scale-in' })).json<{ value: object }>().value;
  const value = { ...setting, restconfDrain: false };
  await world.call(admin, { method: 'PUT', url: '/api/v1/settings/scale-in', payload: { value } });
  await post(world, 'scalein-computes-start', '{"input":{"scalein-node-ids":["central-1"]}}');
  await world.call(admin, { method: 'DELETE', url: '/api/v1/settings/scale-in' });
  await post(world, 'scalein-computes-start', '{"input":{"scalein-node-ids":["central-2"]}}');
  const drain = async (id: string): Promise<unknown> =>
    (await world.call(admin, { url: `/api/v1/hosts/${id}` })).json<{ leaving?: { drain: boolean } }>().leaving?.drain;
  expect([await drain('central-1'), await drain('central-2')]).toEqual([false, true]);
});
