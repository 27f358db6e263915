// Previews that a start is bound to, hosts that join, zones, and the traces of a removed host: none.
import { describe, expect, test } from 'vitest';
import { SERVICE } from '../../../src/election/index.ts';
import { INSTANCE } from '../../../src/instances/index.ts';
import { areJoined, expectSound, isWiped, servers, sendsTo, traces, tunnels } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, shapeOf, tunnelAddress, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const NAT = 'nat:edge';
const ROUTE = 'subnet-route:sub';

async function drainHosts(world: ScaleInAcceptanceWorld, ...hosts: readonly string[]): Promise<void> {
  await world.start(hosts);
  await world.untilState('drained', ...hosts);
  await world.settle();
}

async function removeHosts(world: ScaleInAcceptanceWorld, ...hosts: readonly string[]): Promise<void> {
  await drainHosts(world, ...hosts);
  await world.end(hosts, { disconnect: true });
  await world.untilState('removed', ...hosts);
  await world.settle();
  for (const host of hosts) await world.agents.stop(host);
}

/** Peers with a pending clean-up, and of which host. */
function pendingOf(world: ScaleInAcceptanceWorld): string[] {
  return [...world.fleet.registry.kinds.values()].flatMap((kind) =>
    kind.name === 'pending-clean-up' ? [...world.fleet.all(kind)].map(({ id }): string => id) : [],
  );
}

describe('preview', () => {
  test('scale-in-27: writes-nothing, and a start does what it showed', async () => {
    const world = await scaleInWorld();
    for (const [name, host] of [
      ['one', 'a'],
      ['two', 'a'],
      ['three', 'b'],
      ['four', 'd'],
      ['five', 'e'],
    ] as const)
      await world.place(name, host);
    await world.settle();
    const { revision } = world.fleet;
    const preview = world.preview('a', 'b');
    expect(world.fleet.revision).toBe(revision);
    expect(preview.blocked).toEqual([]);
    const promised = preview.designations.map(({ tenant, from, to }) => `${tenant.id}: ${from} to ${to}`);
    expect(promised).toEqual(['nat:edge: a to d', 'subnet-route:sub: a to e']);
    const moves = preview.hosts.flatMap(({ tenants }) => tenants).filter(({ tenant }) => tenant.kind === INSTANCE.name);
    expect(moves.map(({ tenant }) => tenant.id).sort()).toEqual(['one', 'three', 'two']);
    // In any order of names it is the same plan.
    expect(world.preview('b', 'a', 'b').planHash).toBe(preview.planHash);
    await world.start(['b', 'a'], world.pinToPlan(preview.planHash));
    await world.restart();
    await world.untilState('drained', 'a', 'b');
    await world.settle();
    expect(world.designationHistoryOf(NAT)).toEqual(['none', 'a', 'd']);
    expect(world.designationHistoryOf(ROUTE)).toEqual(['none', 'a', 'e']);
    // Targets of instances are not promised, only that these move and no others do.
    const before = { one: 'a', two: 'a', three: 'b', four: 'd', five: 'e' };
    const removed = Object.entries(before).filter(([name, host]) => world.instance(name).host !== host);
    expect(removed.map(([name]) => name).sort()).toEqual(['one', 'three', 'two']);
    for (const [name] of removed) expect(['a', 'b']).not.toContain(world.instance(name).host);
    expectSound(world);
  });

  test('scale-in-27: a-start-that-is-held-to-an-old-plan-is-refused', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    await world.settle();
    const { planHash } = world.preview('a');
    await world.place('two', 'a');
    await world.settle();
    const refusal = await world.startRefused(['a'], world.pinToPlan(planHash));
    expect(refusal).toMatchObject({ kind: 'conflict', code: 'plan-changed' });
    expect(world.states('a')).toEqual(['active']);
    await world.start(['a'], world.pinToPlan(world.preview('a').planHash));
    expect(world.states('a')).toEqual(['draining']);
  });
});

describe('scale-out', () => {
  test('scale-in-28: a-new-host-has-tunnels-both-ways-and-its-instances-are-reached', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    await world.hosts({ h: shapeOf('h') });
    await world.settle();
    for (const host of HOSTS) expect(areJoined(world, host, 'h')).toBe(true);
    await world.place('two', 'h');
    await world.place('three', 'h');
    await world.settle();
    for (const [name, host] of [
      ['one', 'a'],
      ['two', 'h'],
      ['three', 'h'],
    ] as const) {
      // Packets to its hardware address are delivered to its port.
      const mac = world.ports(name)[0]?.mac ?? '';
      const flows = world.switchOf(host).contents.flows.filter(({ match }) => match.includes(`dl_dst=${mac}`));
      expect(flows.some(({ actions }) => actions.startsWith('output:'))).toBe(true);
    }
    // By itself a new host takes nothing over; it sends to the designated hosts.
    expect(world.designatedHostOf(NAT)).toBe('a');
    expect(sendsTo(world, 'h')).toEqual(['a']);
    expectSound(world);
  });
});

describe('a removed host', () => {
  test('scale-in-29: no-peer-has-anything-that-names-it, and nothing else was touched', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    await world.place('two', 'd');
    await world.place('three', 'e');
    await world.settle();
    const changed: string[] = [];
    await drainHosts(world, 'a');
    world.switchOf('f').faults.slowMs = 2000;
    const stop = world.onSwitchChange((host, changes) => {
      for (const change of changes) if (host !== 'a') changed.push(`${host} ${JSON.stringify(change)}`);
    });
    await world.end(['a'], { disconnect: true });
    // It is removed only when all of them have converged.
    const left: string[] = [];
    const unhook = world.onCommit(() => {
      if (world.states('a')[0] === 'removed') left.push(...HOSTS.slice(1).flatMap((host) => traces(world, host, 'a')));
    });
    await world.untilState('removed', 'a');
    await world.settle();
    stop();
    unhook();
    expect(left).toEqual([]);
    expect(isWiped(world, 'a')).toBe(true);
    for (const host of HOSTS.slice(1)) expect(traces(world, host, 'a')).toEqual([]);
    // Only entries that name it were removed, and none was added: other traffic has lost nothing.
    expect(changed.length).toBeGreaterThan(0);
    expect(changed.filter((change) => !/"remove-(flow|tunnel)"/.test(change))).toEqual([]);
    const kept = HOSTS.slice(1).map((host) => tunnels(world, host));
    expect(kept).toEqual(HOSTS.slice(1).map((host) => HOSTS.slice(1).filter((other) => other !== host)));
    expectSound(world);
  });

  test('scale-in-29: a-peer-that-cannot-be-notified-gets-a-pending-clean-up, and is cleaned when it is back', async () => {
    const world = await scaleInWorld();
    await drainHosts(world, 'a');
    await world.disconnect('g');
    await world.end(['a'], { disconnect: true });
    await world.untilState('removed', 'a');
    await world.settle();
    expect(traces(world, 'g', 'a')).not.toEqual([]);
    expect(pendingOf(world)).toEqual(['g@a']);
    await world.restart();
    await world.reconnect('g');
    await world.until('it is clean', () => pendingOf(world).length === 0);
    expect(traces(world, 'g', 'a')).toEqual([]);
    expectSound(world);
  });

  test('scale-in-30: admitted-again-with-the-same-tunnel-address-it-is-in-the-full-mesh', async () => {
    const world = await scaleInWorld();
    await removeHosts(world, 'a');
    for (const host of HOSTS.slice(1)) expect(tunnels(world, host)).not.toContain('a');
    await world.restart();
    await world.hosts({ a: shapeOf('a') });
    await world.settle();
    for (const host of HOSTS.slice(1)) {
      expect(areJoined(world, 'a', host)).toBe(true);
      const { contents } = world.switchOf(host);
      expect(contents.tunnels.find(({ peer }) => peer === 'a')?.address).toBe(tunnelAddress('a'));
    }
    expectSound(world);
  });
});

describe('transport zones', () => {
  test('scale-in-31: a-zone-that-changes-while-the-host-is-away-is-its-only-one-when-it-is-back', async () => {
    const world = await scaleInWorld({ hosts: { f: { transportZone: 'rack' }, g: { transportZone: 'rack' } } });
    await world.zone('rack');
    await world.settle();
    expect(tunnels(world, 'a')).toEqual(['b', 'c', 'd', 'e']);
    await world.disconnect('a');
    await world.edit('a', { transportZone: 'rack' });
    await world.settle();
    for (const host of ['f', 'g']) expect(tunnels(world, host)).toContain('a');
    for (const host of ['b', 'c', 'd', 'e']) expect(tunnels(world, host)).not.toContain('a');
    expect(tunnels(world, 'a')).toEqual(['b', 'c', 'd', 'e']);
    await world.reconnect('a');
    await world.settle();
    expect(tunnels(world, 'a')).toEqual(['f', 'g']);
    expectSound(world);
  });

  test('scale-in-29: who-was-away-when-a-host-left-their-zone-is-waited-for-when-that-host-is-removed', async () => {
    const world = await scaleInWorld();
    await world.zone('rack');
    await world.disconnect('g');
    await world.edit('a', { transportZone: 'rack' });
    await world.settle();
    expect(tunnels(world, 'g')).toContain('a');
    await drainHosts(world, 'a');
    await world.end(['a'], { disconnect: true });
    await world.untilState('removed', 'a');
    await world.settle();
    expect(traces(world, 'g', 'a')).not.toEqual([]);
    expect(pendingOf(world)).toEqual(['g@a']);
    await world.reconnect('g');
    await world.until('it is clean', () => pendingOf(world).length === 0);
    expect(traces(world, 'g', 'a')).toEqual([]);
    expectSound(world);
  });

  test('scale-in-32: a-tunnel-that-is-wanted-before-its-bridge-is-known-comes-with-the-bridge', async () => {
    const world = await scaleInWorld();
    // Its switch does not answer, and shows no bridge.
    const bridge = world.switchOf('h').currentIdentity;
    world.switchOf('h').currentIdentity = { systemId: 'system-h' };
    world.switchOf('h').faults.down = true;
    await world.hosts({ h: shapeOf('h') });
    await world.settle();
    expect(tunnels(world, 'h')).toEqual([]);
    world.switchOf('h').faults.down = false;
    world.switchOf('h').currentIdentity = bridge;
    await world.until('it has all of them', () => HOSTS.every((host) => areJoined(world, host, 'h')));
    await world.until('it is known', () => world.host('h').switch?.datapathId === bridge.datapathId);
    expectSound(world);
  });

  test('scale-in-33: a-zone-that-is-not-defined-yet-parks-the-host', async () => {
    const world = await scaleInWorld();
    await world.edit('a', { transportZone: 'rack' });
    await world.edit('b', { transportZone: 'rack' });
    await world.settle();
    for (const host of ['a', 'b']) expect(tunnels(world, host)).toEqual([]);
    await world.place('one', 'a');
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBeUndefined();
    const definedMs = world.nowMs;
    await world.zone('rack');
    await world.until('they are joined', () => areJoined(world, 'a', 'b') && servers(world, NAT).join() === 'a');
    expect(world.nowMs - definedMs).toBeLessThanOrEqual(60_000);
    await world.settle();
    expect(tunnels(world, 'a')).toEqual(['b']);
    // Without a zone of its own it is in the default one.
    await world.edit('a', { transportZone: null });
    await world.edit('b', { transportZone: null });
    await world.settle();
    for (const host of HOSTS.slice(1)) expect(areJoined(world, 'a', host)).toBe(true);
    expect(world.all(SERVICE).map(({ doc }) => doc.designated?.host)).toEqual(['a', 'a']);
    expectSound(world);
  });
});
