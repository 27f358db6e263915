// A caller that is bound to one site reads the data plane of its own host: nothing in the answer shows hosts of other sites.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SERVICE } from '../../src/election/index.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { PORT, TUNNEL_KEY } from '../../src/network/index.ts';
import { sampleNetwork } from '../api/sample-network.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

let world: ApiTestServer;

const FAR = { name: 'north-0', tunnel: '192.0.2.77', mac: 'fa:16:3e:00:00:77', ip: '10.0.0.77', port: 'port-far' };

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  const key = (number: number, what: 'segment' | 'router', id: string) =>
    put(TUNNEL_KEY, idOf(TUNNEL_KEY, String(number)), { for: what, id });
  await world.commit(...sampleNetwork(), key(70_001, 'segment', 'rack'), key(70_002, 'router', 'edge'));
  const near = world.journal.fleet.get(PORT, idOf(PORT, 'port-1'));
  if (near?.doc.binding === undefined) throw new Error('the fixture has no bound port');
  const end = (name: string, site: string, tunnelAddress: string) =>
    hostChange(name, { site, tunnelAddress, serviceVersion: 6 });
  await world.commit(
    end('central-0', 'central', '192.0.2.1'),
    end('central-1', 'central', '192.0.2.2'),
    end(FAR.name, 'north', FAR.tunnel),
    put(PORT, idOf(PORT, FAR.port), {
      ...near.doc,
      mac: FAR.mac,
      addresses: [{ ip: FAR.ip, subnet: 'rack-v4', chosenBy: 'bind' }],
      binding: { ...near.doc.binding, host: FAR.name },
    }),
  );
  const nat = world.journal.fleet.get(SERVICE, idOf(SERVICE, 'nat:edge'));
  if (nat === undefined) throw new Error('the fixture has no service');
  await world.commit(put(SERVICE, nat.id, { ...nat.doc, standby: FAR.name }));
});
afterEach(() => world.close());

const read = async (secret: string, query = ''): Promise<string> => {
  const answer = await world.call(secret, { url: `/api/v1/hosts/central-0/dataplane?limit=20000${query}` });
  expect(answer.statusCode).toBe(200);
  return answer.body;
};

/** An address is also matched as hexadecimal digits. */
const traces = ({ name, tunnel, mac, ip, port }: typeof FAR): string[] => [name, tunnel, mac, ip, port, '0xa00004d'];

test('what-shows-hosts-of-other-sites-is-not-in-the-answer', async () => {
  const free = await read(await world.token('viewer'));
  expect(traces(FAR).filter((text) => free.includes(text))).toEqual(
    expect.arrayContaining([FAR.name, FAR.tunnel, FAR.mac, FAR.port]),
  );
  const bound = await read(await world.token('viewer', { site: 'central' }));
  expect(traces(FAR).filter((text) => bound.includes(text))).toEqual([]);
  expect(JSON.parse(bound)).toMatchObject({
    scope: 'site',
    tunnels: [{ peer: 'central-1', address: '192.0.2.2' }],
  });
});

test('counts-and-filters-do-not-show-them-either', async () => {
  const bound = await world.token('viewer', { site: 'central' });
  for (const query of [`&owner=${FAR.port}`, `&owner=peer/${FAR.name}`, `&text=${FAR.tunnel}`, `&text=${FAR.mac}`])
    expect(JSON.parse(await read(bound, query))).toMatchObject({ count: 0, flows: [] });
});

test('a-service-that-another-site-provides-is-left-out', async () => {
  const nat = world.journal.fleet.get(SERVICE, idOf(SERVICE, 'nat:edge'));
  if (nat === undefined) throw new Error('the fixture has no service');
  await world.commit(put(SERVICE, nat.id, { ...nat.doc, designated: { host: FAR.name, sinceMs: 2 } }));
  expect(JSON.parse(await read(await world.token('viewer', { site: 'central' }), '&owner=nat:edge'))).toMatchObject({
    count: 0,
    flows: [],
  });
});
