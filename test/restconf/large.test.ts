// Answers of RESTCONF that are as large as the fleet: made and sent in pieces, with the text that they always had.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idIn } from '../api/every-route.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

const HOSTS = 3000;
const TOPOLOGY = '/restconf/data/network-topology:network-topology';
const INVENTORY = '/restconf/data/opendaylight-inventory:nodes';
const ACCEPT = { accept: 'application/yang-data+json' };

let world: ApiTestServer;
let url: string;
let viewer: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  url = await world.server.listen({ host: '127.0.0.1', port: 0 });
  viewer = await world.token('viewer');
  const datapathId = (nth: number): string => (0xfedcba0000000000n + BigInt(nth)).toString(16);
  const hosts = Array.from({ length: HOSTS }, (_, nth) =>
    hostChange(`many-${nth}`, { switch: { datapathId: datapathId(nth) } }),
  );
  await world.commit(...hosts);
});

afterEach(() => world.close());

const headersOf = (secret: string) => ({ ...ACCEPT, authorization: `Bearer ${secret}` });
const ask = (path: string, method = 'GET') => fetch(`${url}${path}`, { method, headers: headersOf(viewer) });

test.each([TOPOLOGY, `${TOPOLOGY}/topology=ovsdb:1`, INVENTORY, '/restconf/data'])(
  'the text is that of one whole, and others have their turns while it is made: %s',
  async (path) => {
    let turns = 0;
    const turn = world.clock.turn.bind(world.clock);
    world.clock.turn = () => {
      turns += 1;
      return turn();
    };
    const answer = await ask(path);
    const text = await answer.text();
    expect(JSON.stringify(JSON.parse(text))).toBe(text);
    expect(text.match(/many-\d+"|openflow:/g)?.length).toBeGreaterThanOrEqual(HOSTS);
    expect(turns).toBeGreaterThan(text.length / (80 * 1024));
    expect(answer.headers.get('transfer-encoding')).toBe('chunked');
    expect(answer.headers.get('content-type')).toBe('application/yang-data+json; charset=utf-8');
  },
);

test('each node is the one that is shown alone', async () => {
  const body = (await (await ask(TOPOLOGY)).json()) as Record<string, { topology: { node: object[] }[] }>;
  const nodes = body['network-topology:network-topology']?.topology[0]?.node ?? [];
  const alone = await (await ask(`${TOPOLOGY}/topology=ovsdb:1/node=many-7`)).json();
  expect(nodes).toContainEqual((alone as Record<string, object[]>)['network-topology:node']?.[0]);
});

test('a HEAD has the headers and costs no look at the hosts', async () => {
  const { fleet } = world.journal;
  const all = fleet.all.bind(fleet);
  let looks = 0;
  fleet.all = ((kind) => {
    looks += 1;
    return all(kind);
  }) as typeof fleet.all;
  const answer = await ask('/restconf/data', 'HEAD');
  expect([answer.status, await answer.text(), looks]).toEqual([200, '', 0]);
  expect(answer.headers.get('etag')).toMatch(new RegExp(`^"${fleet.revision}-`));
  expect(answer.headers.get('content-type')).toBe('application/yang-data+json; charset=utf-8');
  const same = { ...headersOf(viewer), 'if-none-match': answer.headers.get('etag') ?? '' };
  expect((await fetch(`${url}/restconf/data`, { headers: same })).status).toBe(304);
});

test('never: an answer continues after its token was revoked', async () => {
  const admin = await world.token('admin');
  const turn = world.clock.turn.bind(world.clock);
  let turns = 0;
  world.clock.turn = async () => {
    turns += 1;
    if (turns === 3) await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(viewer)}` });
    return turn();
  };
  const answer = await ask(TOPOLOGY);
  await expect(answer.text()).rejects.toThrow();
});
