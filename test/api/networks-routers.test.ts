// Routers, floating addresses, transport zones and DHCP over HTTP: what is answered, what is listed, what is refused and how.
import type { InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let [viewer, operator, admin]: string[] = [];

interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function call(method: string | undefined, path: string, body?: object, secret = operator): Promise<ApiAnswer> {
  const request: InjectOptions = { method: method ?? 'GET', url: `/api/v1/${path}` };
  const answer = await world.call(secret, body === undefined ? request : { ...request, payload: body });
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
}

const post = (path: string, body?: object): Promise<ApiAnswer> => call('POST', path, body);
const patch = (path: string, body: object): Promise<ApiAnswer> => call('PATCH', path, body);
const end = (path: string): Promise<ApiAnswer> => call('DELETE', path);
const get = (path: string): Promise<ApiAnswer> => call('GET', path, undefined, viewer);
const ids = async (path: string): Promise<unknown> =>
  ((await get(path)).body['items'] as readonly { readonly id: string }[]).map(({ id }) => id);
const idIn = ({ body }: ApiAnswer): string => body['id'] as string;

beforeAll(async () => {
  world = await startApiTestServer();
  await populate(world, 0);
  viewer = await world.token('viewer');
  operator = await world.token('operator');
  admin = await world.token('admin');
  expect(await call('POST', 'networks', { name: 'uplink', external: true }, admin)).toMatchObject({ status: 201 });
  for (const [path, body] of [
    ['subnets', { name: 'uplink-v4', network: 'uplink', cidr: '203.0.113.0/29' }],
    ['networks', { name: 'lan' }],
    ['subnets', { name: 'lan-v4', network: 'lan', cidr: '10.0.0.0/24', dhcp: true }],
    ['subnets', { name: 'lan-v6', network: 'lan', cidr: 'fd00::/64' }],
  ] as const) {
    expect(await post(path, body)).toMatchObject({ status: 201 });
  }
});
afterAll(() => world.close());

test('DHCP of a subnet is shown, listed, turned off, and refused for IPv6', async () => {
  expect((await get('subnets/lan-v4')).body).toMatchObject({ dhcp: true });
  expect(await ids('subnets?dhcp=true')).toEqual(['lan-v4']);
  expect((await patch('subnets/lan-v4', { dhcp: false })).body).not.toHaveProperty('dhcp');
  expect(await ids('subnets?dhcp=true')).toEqual([]);
  expect((await patch('subnets/lan-v4', { dhcp: true })).body).toMatchObject({ dhcp: true });
  expect(await patch('subnets/lan-v6', { dhcp: true })).toMatchObject({
    status: 422,
    body: { code: 'dhcp-needs-ipv4', field: '/dhcp' },
  });
});

describe('a way out, from nothing to nothing', () => {
  let [port, floating]: string[] = [];

  test('a router is made, shown, listed and edited', async () => {
    const made = await post('routers', { name: 'edge', subnets: ['lan-v4'], externalNetwork: 'uplink' });
    expect(made).toMatchObject({
      status: 201,
      headers: { location: '/api/v1/routers/edge' },
      body: { id: 'edge', project: 'default', subnets: ['lan-v4'], nat: { ip: '203.0.113.2' } },
    });
    const { nat } = made.body as { readonly nat: { readonly port: string } };
    expect((await get(`ports/${nat.port}`)).body).toMatchObject({
      createdBy: 'muster',
      attached: false,
      usedBy: { kind: 'router', id: 'edge' },
    });
    expect((await get('networks/uplink/stock')).body).toMatchObject({ stock: [{ total: '5', held: '1', free: '4' }] });
    const edited = await patch('routers/edge', { addSubnets: ['lan-v6'], natAddress: '203.0.113.6' });
    expect(edited).toMatchObject({ status: 200, body: { subnets: ['lan-v4', 'lan-v6'], nat: { ip: '203.0.113.6' } } });
    expect(await get(`ports/${nat.port}`)).toMatchObject({ status: 404 });
    expect(await ids('routers?subnet=lan-v6')).toEqual(['edge']);
    expect(await ids('routers?externalNetwork=uplink&project=default')).toEqual(['edge']);
    expect(await ids('routers?subnet=uplink-v4')).toEqual([]);
  });

  test('a floating address is taken, leads to a port, and is listed by what it leads through', async () => {
    port = idIn(await post('ports', { network: 'lan', fixedIps: [{ ip: '10.0.0.9' }] }));
    const made = await post('floating-addresses', { network: 'uplink' });
    expect(made).toMatchObject({ status: 201, body: { network: 'uplink', outside: { ip: '203.0.113.2' } } });
    floating = idIn(made);
    expect(made.headers['location']).toBe(`/api/v1/floating-addresses/${floating}`);
    expect(await post(`floating-addresses/${floating}/associate`, { port })).toMatchObject({
      status: 200,
      body: { inside: { port, ip: '10.0.0.9', router: 'edge' } },
    });
    for (const query of [`port=${port}`, 'router=edge', 'network=uplink', 'associated=true', 'address=203.0.113.2']) {
      expect(await ids(`floating-addresses?${query}`)).toEqual([floating]);
    }
    expect(await ids('floating-addresses?associated=false')).toEqual([]);
  });

  test('the journal shows who did it, and why', async () => {
    const { items } = (await get('history')).body as { readonly items: readonly { readonly why?: string }[] };
    const whys = items.map(({ why }) => why);
    expect(whys).toContain('create router edge');
    expect(whys).toContain(`associate with port ${port}`);
  });

  test('what is in use stays, what is not goes in its order', async () => {
    const inUse = [
      ['networks/uplink', 'network-in-use'],
      ['subnets/lan-v4', 'subnet-in-use'],
      ['subnets/lan-v6', 'subnet-behind-router'],
      ['subnets/uplink-v4', 'subnet-in-use'],
      [`ports/${port}`, 'port-has-floating-address'],
      ['routers/edge', 'router-has-floating-addresses'],
      [`floating-addresses/${floating}`, 'floating-address-in-use'],
    ];
    for (const [path = '', code] of inUse) expect(await end(path)).toMatchObject({ status: 409, body: { code } });
    const parted = await post(`floating-addresses/${floating}/disassociate`);
    expect(parted.status).toBe(200);
    expect(parted.body).not.toHaveProperty('inside');
    for (const path of [
      `floating-addresses/${floating}`,
      'routers/edge',
      `ports/${port}`,
      'subnets/lan-v4',
      'subnets/uplink-v4',
      'networks/uplink',
    ]) {
      expect(await end(path)).toMatchObject({ status: 200 });
      expect(await get(path)).toMatchObject({ status: 404 });
    }
  });
});

describe('requests that are wrong', () => {
  test.each<[string, string, object, string]>([
    ['a-bad-name', 'POST routers', { name: 'Edge 7' }, '400 malformed-body'],
    ['a-field-that-is-none', 'POST routers', { name: 'x', subnet: 'lan-v4' }, '400 malformed-body'],
    ['a-subnet-named-twice', 'POST routers', { name: 'x', subnets: ['a', 'a'] }, '400 malformed-body'],
    ['an-unknown-subnet', 'POST routers', { name: 'x', subnets: ['mars'] }, '422 unknown-subnet'],
    ['an-unknown-network', 'POST routers', { name: 'x', externalNetwork: 'mars' }, '422 unknown-network'],
    ['nothing-to-edit', 'PATCH routers/mars', {}, '400 malformed-body'],
    ['a-router-that-is-not-there', 'PATCH routers/mars', { addSubnets: [] }, '404 router-not-found'],
    ['no-network', 'POST floating-addresses', {}, '400 malformed-body'],
    ['no-address', 'POST floating-addresses', { network: 'lan', ip: 'x' }, '400 malformed-body'],
    ['a-network-inside', 'POST floating-addresses', { network: 'lan' }, '422 network-not-external'],
    ['no-port', 'POST floating-addresses/f/associate', {}, '400 malformed-body'],
    ['a-bad-zone', 'POST transport-zones', { name: '-' }, '400 malformed-body'],
    ['a-bad-mesh', 'POST transport-zones', { name: 'x', mesh: 'some' }, '400 malformed-body'],
    ['a-zone-that-is-not-there', 'PATCH transport-zones/x', { mesh: 'full' }, '404 transport-zone-not-found'],
  ])('%s', async (_name, what, body, outcome) => {
    const [method, path = ''] = what.split(' ');
    const { status, body: problem } = await call(method, path, body);
    expect(`${status} ${String(problem['code'])}`).toBe(outcome);
  });
});

test('a transport zone is made, edited, kept while hosts are in it, and deleted', async () => {
  expect(await post('transport-zones', { name: 'blue' })).toMatchObject({ status: 201, body: { mesh: 'needed' } });
  expect(await patch('transport-zones/blue', { mesh: 'full' })).toMatchObject({
    status: 200,
    body: { mesh: 'full' },
  });
  expect(await ids('transport-zones?mesh=full')).toEqual(['blue']);
  await world.commit(hostChange('h1', { transportZone: 'blue' }));
  expect(await end('transport-zones/blue')).toMatchObject({
    status: 409,
    body: { code: 'transport-zone-in-use', hosts: 1 },
  });
  await world.commit(hostChange('h1'));
  expect(await end('transport-zones/blue')).toMatchObject({ status: 200, body: { id: 'blue' } });
});
