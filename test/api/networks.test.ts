// Networks, segments, subnets, ports and quotas over HTTP: who may do what, what is answered, what is refused and how.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { InjectOptions } from 'fastify';
import { idOf, put } from '../../src/fleet/index.ts';
import { PORT, type Port } from '../../src/network/index.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let [viewer, operator, admin, northerner]: string[] = [];

beforeAll(async () => {
  world = await startApiTestServer();
  await populate(world, 0);
  await world.commit(
    hostChange('h1', { physicalNetworks: ['dark', 'light'] }),
    hostChange('h2', { site: 'north', physicalNetworks: ['light'] }),
  );
  viewer = await world.token('viewer');
  operator = await world.token('operator');
  admin = await world.token('admin');
  northerner = await world.token('viewer', { site: 'north' });
});
afterAll(() => world.close());

interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function call(
  secret: string | undefined,
  method: InjectOptions['method'],
  path: string,
  body?: object,
): Promise<ApiAnswer> {
  const request: InjectOptions = { method: method ?? 'GET', url: `/api/v1/${path}` };
  const answer = await world.call(secret, body === undefined ? request : { ...request, payload: body });
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
}

const post = (path: string, body: object, secret = operator): Promise<ApiAnswer> => call(secret, 'POST', path, body);
const get = (path: string, secret = viewer): Promise<ApiAnswer> => call(secret, 'GET', path);
const ids = ({ body }: ApiAnswer): unknown => (body['items'] as readonly { readonly id: string }[]).map(({ id }) => id);

describe('a routed network, from nothing to nothing', () => {
  test('is made of a network, segments and subnets', async () => {
    expect(await post('networks', { name: 'net' })).toMatchObject({
      status: 201,
      headers: { location: '/api/v1/networks/net' },
      body: { id: 'net', project: 'default', backEnd: 'embedded', shared: false, portSecurity: true },
    });
    for (const [name, physicalNetwork, segmentationId] of [
      ['seg-a', 'dark', 10],
      ['seg-b', 'light', 20],
    ]) {
      const made = await post('segments', { name, network: 'net', type: 'vlan', physicalNetwork, segmentationId });
      expect(made).toMatchObject({ status: 201, body: { id: name, network: 'net', dynamic: false } });
    }
    expect(await post('subnets', { name: 'a4', network: 'net', segment: 'seg-a', cidr: '10.0.0.0/29' })).toMatchObject({
      status: 201,
      body: { version: 4, gateway: '10.0.0.1', pools: [{ first: '10.0.0.2', last: '10.0.0.6' }] },
    });
    expect(
      await post('subnets', { name: 'b6', network: 'net', segment: 'seg-b', cidr: '2001:db8::/64', gateway: null }),
    ).toMatchObject({
      status: 201,
      body: { version: 6, pools: [{ first: '2001:db8::1', last: '2001:db8::ffff:ffff:ffff:ffff' }] },
    });
  });

  test('its stock is in decimal text, exact beyond what a JSON number holds', async () => {
    const figures = { held: '0', claimed: '0' };
    expect((await get('segments/seg-b/stock')).body).toMatchObject({
      network: 'net',
      stock: [
        {
          pool: 'segment:seg-b',
          segment: 'seg-b',
          version: 6,
          ...figures,
          total: '18446744073709551615',
          free: '18446744073709551615',
        },
      ],
    });
    const port = await post('ports', { network: 'net', fixedIps: [{ ip: '10.0.0.4' }] });
    expect(port).toMatchObject({
      status: 201,
      body: {
        createdBy: 'user',
        attached: false,
        ipAllocation: 'immediate',
        addresses: [{ ip: '10.0.0.4', chosenBy: 'user' }],
      },
    });
    expect((await get('networks/net/stock')).body).toMatchObject({
      stock: [{ segment: 'seg-a', version: 4, total: '5', held: '1', claimed: '0', free: '4' }, { segment: 'seg-b' }],
    });
    expect(await get('segments/mars/stock')).toMatchObject({ status: 404, body: { code: 'segment-not-found' } });
    expect(await get('networks/mars/stock')).toMatchObject({ status: 404, body: { code: 'network-not-found' } });
  });

  test('R2: a host reaches the segments on the physical networks it reports', async () => {
    const reached = async (host: string, secret = viewer) =>
      (await get(`hosts/${host}/segments`, secret)).body['items'] as readonly { readonly segment: string }[];
    expect((await reached('h1')).map(({ segment }) => segment)).toEqual(['seg-a', 'seg-b']);
    expect(await reached('h2')).toEqual([{ segment: 'seg-b', network: 'net', physicalNetwork: 'light' }]);
    await call(operator, 'PATCH', 'hosts/h2', { physicalNetworks: ['dark'] });
    expect((await reached('h2', northerner)).map(({ segment }) => segment)).toEqual(['seg-a']);
    expect(await get('hosts/h1/segments', northerner)).toMatchObject({ status: 404 });
  });

  test('what is in use stays, what is not is deleted in its order', async () => {
    const end = (path: string) => call(operator, 'DELETE', path);
    expect(await end('networks/net')).toMatchObject({ status: 409, body: { code: 'network-in-use', what: 'ports' } });
    expect(await end('segments/seg-a')).toMatchObject({ status: 409, body: { code: 'segment-has-subnets' } });
    expect(await end('subnets/a4')).toMatchObject({ status: 409, body: { code: 'subnet-in-use' } });
    const [port] = ids(await get('ports?network=net')) as string[];
    expect(await end(`ports/${port}`)).toMatchObject({ status: 200, body: { id: port } });
    for (const path of ['subnets/a4', 'subnets/b6', 'segments/seg-a', 'segments/seg-b', 'networks/net']) {
      expect(await end(path)).toMatchObject({ status: 200 });
      expect(await get(path)).toMatchObject({ status: 404 });
    }
  });
});

describe('who may do what', () => {
  test('viewers read, operators write, administrators set quotas and make what leads outside for them alone', async () => {
    expect(await post('networks', { name: 'x' }, viewer)).toMatchObject({ status: 403 });
    expect(await post('networks', { name: 'uplink', external: true })).toMatchObject({
      status: 403,
      body: { code: 'external-needs-admin', field: '/external' },
    });
    expect(await post('networks', { name: 'uplink', external: true }, admin)).toMatchObject({ status: 201 });
    expect(await call(operator, 'PUT', 'quotas/default', { ports: 1 })).toMatchObject({ status: 403 });
    expect(await get('networks', northerner)).toMatchObject({ status: 403 });
  });

  test('a quota is set, shown, kept to, and deleted', async () => {
    await post('networks', { name: 'plain' });
    await post('subnets', { name: 'plain', network: 'plain', cidr: '10.9.0.0/24' });
    expect(await call(admin, 'PUT', 'quotas/default', { ports: 1, vcpus: 8 })).toMatchObject({
      status: 200,
      body: { id: 'default', project: 'default', ports: 1, vcpus: 8 },
    });
    const used = { instances: 0, vcpus: 0, memoryMiB: 0, ports: 0 };
    expect((await get('quotas')).body).toMatchObject({ items: [{ id: 'default', used }] });
    expect((await get('quotas/default')).body).toMatchObject({ ports: 1, used });
    expect(await post('ports', { network: 'plain' })).toMatchObject({ status: 201 });
    expect(await post('ports', { network: 'plain' })).toMatchObject({
      status: 409,
      body: { code: 'quota-exceeded', what: 'ports', limit: 1, used: 1 },
    });
    expect(await call(admin, 'PUT', 'quotas/Not%20a%20name', {})).toMatchObject({ status: 400 });
    expect(await call(admin, 'DELETE', 'quotas/default')).toMatchObject({ status: 200 });
    expect(await get('quotas/default')).toMatchObject({ status: 404 });
  });
});

describe('ports', () => {
  test('are listed by network, instance, host, project and maker', async () => {
    await post('ports', { network: 'plain', project: 'default', name: 'second', mac: '52:54:00:00:00:09' });
    const [first, second] = ids(await get('ports?network=plain')) as string[];
    const stored = world.journal.fleet.get(PORT, idOf(PORT, first ?? ''))?.doc as Port;
    const bound: Port = {
      ...stored,
      createdBy: 'muster',
      instance: 'web',
      nic: 0,
      serial: 1,
      binding: { host: 'h2', serial: 1, type: 'ovs' },
    };
    await world.commit(put(PORT, idOf(PORT, first ?? ''), bound));
    expect(ids(await get('ports?instance=web'))).toEqual([first]);
    expect(ids(await get('ports?host=h2'))).toEqual([first]);
    expect(ids(await get('ports?createdBy=muster'))).toEqual([first]);
    expect(ids(await get('ports?createdBy=user&network=plain'))).toEqual([second]);
    expect(ids(await get('ports?attached=false&project=default'))).toEqual([second]);
    expect(ids(await get('ports?mac=52:54:00:00:00:09'))).toEqual([second]);
    expect(ids(await get('ports?project=blue'))).toEqual([]);
    // Whoever is bound to a site sees what is bound there.
    expect(ids(await get('ports', northerner))).toEqual([first]);
    expect(await get(`ports/${second}`, northerner)).toMatchObject({ status: 404 });
    expect(await call(operator, 'DELETE', `ports/${first}`)).toMatchObject({
      status: 409,
      body: { code: 'port-in-use' },
    });
  });

  test('have events, which are shown to whoever is shown the port', async () => {
    const [port] = ids(await get('ports?instance=web')) as string[];
    expect(await post('network-events', { events: [{ port, name: 'plugged', serial: 1 }] })).toMatchObject({
      status: 200,
      body: { events: [{ port, result: 'recorded' }] },
    });
    const [mine, theirs] = [
      await world.token('viewer', { project: 'default' }),
      await world.token('viewer', { project: 'blue' }),
    ];
    const southerner = await world.token('viewer', { site: 'central' });
    for (const secret of [viewer, northerner, mine]) {
      const { body } = await get('network-events', secret);
      expect(body['items']).toMatchObject([{ port, name: 'plugged' }]);
      expect((await get('history?kind=network-event', secret)).body['items']).toHaveLength(1);
    }
    for (const secret of [southerner, theirs]) {
      expect(ids(await get('network-events', secret))).toEqual([]);
      expect((await get('history?kind=network-event', secret)).body['items']).toEqual([]);
    }
  });

  test('are edited field by field', async () => {
    const [port] = ids(await get('ports?createdBy=user')) as string[];
    const edited = await call(operator, 'PATCH', `ports/${port}`, {
      name: null,
      securityGroups: ['web'],
      dnsName: 'www',
    });
    expect(edited).toMatchObject({ status: 200, body: { securityGroups: ['web'], dnsName: 'www' } });
    expect(edited.body['name']).toBeUndefined();
    expect(await call(operator, 'PATCH', `ports/${port}`, {})).toMatchObject({ status: 400 });
    expect(await call(operator, 'PATCH', `ports/${port}`, { mac: '52:00:00:00:00:00' })).toMatchObject({ status: 400 });
  });

  test('of a back end outside are gone when it has deleted them', async () => {
    await post('networks', { name: 'sim', backEnd: 'simulated' });
    await post('subnets', { name: 'sim', network: 'sim', cidr: '10.8.0.0/24' });
    const { body } = await post('ports', { network: 'sim' });
    const id = idOf(PORT, String(body['id']));
    const doc = world.journal.fleet.get(PORT, id)?.doc as Port;
    expect(doc.state).toBe('wanted');
    await world.commit(put(PORT, id, { ...doc, state: 'made', serial: 2 }));
    const ended = await call(operator, 'DELETE', `ports/${id}`);
    expect(ended).toMatchObject({
      status: 202,
      headers: { location: `/api/v1/operations/${String(ended.body['operation'])}` },
    });
    expect((await get(`ports/${id}`)).body).toMatchObject({ state: 'releasing' });
  });
});

describe('what is refused', () => {
  test.each<[string, string, object, readonly [status: number, code: string, field?: string]]>([
    [
      'an unknown network',
      'segments',
      { name: 'x', network: 'mars', type: 'vxlan' },
      [422, 'unknown-network', '/network'],
    ],
    ['host bits', 'subnets', { name: 'x', network: 'plain', cidr: '10.1.2.3/24' }, [422, 'cidr-invalid', '/cidr']],
    ['an overlap', 'subnets', { name: 'x', network: 'plain', cidr: '10.9.0.0/25' }, [409, 'cidr-overlaps', '/cidr']],
    [
      'an address in use',
      'ports',
      { network: 'plain', fixedIps: [{ ip: '10.9.0.1' }] },
      [409, 'address-in-use', '/fixedIps/0/ip'],
    ],
    ['no address', 'ports', { network: 'plain', fixedIps: [{ ip: '10.9.0.256' }] }, [400, 'malformed-body']],
    ['a network that leads outside', 'ports', { network: 'uplink' }, [403, 'network-not-allowed', '/network']],
    ['a field that is not there', 'networks', { name: 'x', shard: true }, [400, 'malformed-body']],
  ])('%s', async (_name, path, body, [status, code, field]) => {
    const before = world.journal.fleet.revision;
    const answer = await post(path, body);
    expect(answer).toMatchObject({ status, body: { code } });
    if (field !== undefined) expect(answer.body['field']).toBe(field);
    expect(world.journal.fleet.revision).toBe(before);
  });
});
