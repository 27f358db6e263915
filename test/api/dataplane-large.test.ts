// The data plane of a host that has a tunnel to every other one: worked out and sent in pieces, with turns for others between.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { TRANSPORT_ZONE } from '../../src/network/index.ts';
import { idIn } from './every-route.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const HOSTS = 5000;
const PATH = '/api/v1/hosts/many-7/dataplane';

let world: ApiTestServer;
let url: string;
let viewer: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  url = await world.server.listen({ host: '127.0.0.1', port: 0 });
  viewer = await world.token('viewer');
  const zone = { name: 'default', mesh: 'full', changedBy: 'ann', changedAtMs: 0 } as const;
  await world.commit(put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), zone));
  const address = (nth: number): string => `10.9.${nth >> 8}.${nth & 255}`;
  const hosts = Array.from({ length: HOSTS }, (_, nth) => hostChange(`many-${nth}`, { tunnelAddress: address(nth) }));
  await world.commit(...hosts);
});

afterEach(() => world.close());

/** Does something each time that others have their turn. */
function onTurn(act: (turns: number) => unknown): void {
  const turn = world.clock.turn.bind(world.clock);
  let turns = 0;
  world.clock.turn = async () => {
    turns += 1;
    await act(turns);
    return turn();
  };
}

const ask = (path = PATH, method = 'GET') =>
  fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${viewer}` } });

interface DataplaneAnswer {
  readonly count: number;
  readonly flows: readonly { readonly match: string }[];
  readonly tunnels: readonly { readonly peer: string; readonly address: string }[];
}

test('others have their turns while it is worked out and sent, and nothing is missing', async () => {
  let seen = 0;
  onTurn((turns) => void (seen = turns));
  const answer = await ask(`${PATH}?limit=20000`);
  const text = await answer.text();
  expect(JSON.stringify(JSON.parse(text))).toBe(text);
  const { count, flows, tunnels } = JSON.parse(text) as DataplaneAnswer;
  expect(tunnels.filter(({ peer }) => peer.startsWith('many-'))).toHaveLength(HOSTS - 1);
  expect(flows).toHaveLength(count);
  const sources = new Set(flows.map(({ match }) => match));
  expect(
    tunnels.filter(({ address }) => ![...sources.values()].some((one) => one.endsWith(`tun_src=${address}`))),
  ).toEqual([]);
  // What is sent alone is about a dozen pieces.
  expect(seen).toBeGreaterThan(text.length / (64 * 1024) + 5);
});

test('hosts that go while it is worked out are left out or still there, and it is answered', async () => {
  onTurn(async (turns) => {
    if (turns === 2) await world.commit(...[1, 2, 4998].map((nth) => hostChange(`many-${nth}`, { state: 'removed' })));
  });
  const { tunnels } = (await (await ask()).json()) as DataplaneAnswer;
  expect(tunnels.length).toBeGreaterThanOrEqual(HOSTS - 4);
});

test('a HEAD has the headers and works nothing out', async () => {
  let seen = 0;
  onTurn((turns) => void (seen = turns));
  const answer = await ask(PATH, 'HEAD');
  expect([answer.status, await answer.text()]).toEqual([200, '']);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(seen).toBeLessThan(3);
});

test('never: it is shown to a token that was revoked while it was worked out', async () => {
  const admin = await world.token('admin');
  onTurn(async (turns) => {
    if (turns === 3) await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(viewer)}` });
  });
  expect((await ask()).status).toBe(401);
});
