// The impact on other hosts' switches in a preview, against the switches themselves: as many tunnels, flows and groups as name the leaving host by its
// address, peer by peer. Flows to its ports do not belong to the host: they follow each instance as it moves.
import { describe, expect, test } from 'vitest';
import { HttpApi } from './http-fixture.ts';
import { traces } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, type ScaleInFixture, type ScaleInAcceptanceWorld } from './world-fixture.ts';

interface Peer {
  readonly host: string;
  readonly flows: number;
  readonly services: readonly string[];
}

interface Touches {
  readonly tunnels: number;
  readonly flows: number;
  readonly groups: number;
  readonly services: number;
  readonly byPeer: readonly Peer[];
}

async function previewTouches(
  world: ScaleInAcceptanceWorld,
  hosts: readonly string[],
  limit = 100,
): Promise<Record<string, Touches>> {
  const http = await HttpApi.start(world);
  const { status, body } = await http.post('/api/v1/scale-in/preview', { hosts, limit });
  expect(status).toBe(200);
  const shown = body as { readonly hosts: readonly { readonly host: string; readonly touches: Touches }[] };
  return Object.fromEntries(shown.hosts.map(({ host, touches }) => [host, touches]));
}

/** The tunnels, flows and groups on the staying hosts that name it. */
function named(world: ScaleInAcceptanceWorld, host: string, leavers: readonly string[]) {
  const staying = HOSTS.filter((one) => !leavers.includes(one));
  const count = (peer: string, word: string): number =>
    traces(world, peer, host).filter((line) => line.startsWith(word) && !isOfPorts(line)).length;
  const sum = (word: string): number => staying.reduce((all, peer) => all + count(peer, word), 0);
  const peers = staying.filter((peer) => count(peer, 'tunnel') > 0);
  return {
    tunnels: sum('tunnel'),
    flows: sum('flow'),
    groups: sum('group'),
    byPeer: peers.map((peer) => [peer, count(peer, 'flow'), count(peer, 'group')]),
  };
}

/** A flow to the hardware address of a port there, or a copy to all hosts with ports in a network. */
function isOfPorts(line: string): boolean {
  return line.includes('dl_dst=') || line.startsWith('group all ');
}

async function startPopulated(options: ScaleInFixture): Promise<ScaleInAcceptanceWorld> {
  const world = await scaleInWorld({ dhcp: true, ...options });
  for (const [name, host] of Object.entries({ one: 'a', two: 'b', three: 'd', four: 'e', five: 'f' })) {
    await world.place(name, host);
  }
  await world.net('lone');
  await world.subnet('sub-lone', 'lone', '10.8.0.0/24');
  await world.place('six', 'g', 'lone');
  await world.settle();
  expect(['nat:edge', 'dhcp:sub', 'subnet-route:sub'].map((id) => world.designatedHostOf(id))).toEqual(['a', 'a', 'a']);
  return world;
}

describe.each(['full', 'needed'] as const)('with a mesh that is %s', (mesh) => {
  test.each([
    ['one', ['a']],
    ['several', ['a', 'b', 'g']],
    ['one-that-does-nothing-for-others', ['c']],
  ])('%s: what-is-touched-is-what-names-it', async (_name, leavers) => {
    const world = await startPopulated({ mesh, hosts: { f: { transportZone: 'far' } } });
    const touched = await previewTouches(world, leavers);
    for (const host of leavers) {
      const { byPeer, services, ...counts } = touched[host] as Touches;
      const expected = named(world, host, leavers);
      expect({ ...counts, byPeer: byTheirNames(byPeer) }).toEqual(expected);
      expect(services).toBe(new Set(byPeer.flatMap((peer) => peer.services)).size);
    }
    const { tunnels = 0, groups = 0 } = touched[leavers[0] ?? ''] ?? {};
    expect([tunnels > 0, groups > 0]).toEqual([mesh === 'full' || leavers[0] === 'a', leavers[0] === 'a']);
  });
});

function byTheirNames(peers: readonly Peer[]): (string | number)[][] {
  const sorted = peers.toSorted((one, other) => (one.host < other.host ? -1 : 1));
  return sorted.map(({ host, flows, services }) => [host, flows, services.length]);
}

test('names-are-bounded-in-all, and counts are not', async () => {
  const world = await startPopulated({});
  const all = await previewTouches(world, ['a', 'c']);
  const few = await previewTouches(world, ['a', 'c'], 4);
  expect(few['a']?.byPeer.map(({ host, services }) => [host, services.length])).toEqual([
    ['b', 2],
    ['d', 2],
    ['e', 2],
    ['f', 2],
  ]);
  expect(few['c']?.byPeer).toEqual([]);
  for (const host of ['a', 'c']) expect({ ...few[host], byPeer: [] }).toEqual({ ...all[host], byPeer: [] });
});
