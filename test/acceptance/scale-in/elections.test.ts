// Designations while hosts leave and return: never a leaving host while there is another candidate, one move and not two, and the old host serves until
// the new one is ready.
import { describe, expect, test } from 'vitest';
import type { TrackedConnection } from '../../../src/dataplane/index.ts';
import { INSTANCE, type Instance } from '../../../src/instances/index.ts';
import { SERVICE, type Service } from '../../../src/election/index.ts';
import { HttpApi } from './http-fixture.ts';
import { expectSound, isWiped, sendsTo, servers, watchSwitches, zoneOf } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const NAT = 'nat:edge';
const ROUTE = 'subnet-route:sub';
const DHCP = 'dhcp:sub';

/** An instance on each of these hosts; the first one is elected. */
async function presentOn(world: ScaleInAcceptanceWorld, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) {
    await world.place(`on-${host}`, host);
    await world.settle();
  }
}

function connection(nth: number): TrackedConnection {
  const natSource = { ip: '198.51.100.1', port: 1024 + nth };
  return { protocol: 'udp', src: '10.0.0.2', sport: 4000 + nth, dst: '203.0.113.9', dport: 53, natSource };
}

function epochOf(world: ScaleInAcceptanceWorld, service: string): number {
  return world.service(service).epoch;
}

/** The number of the commit in which a condition first held. */
function firstAt(world: ScaleInAcceptanceWorld, kind: string, isSo: (doc: object, id: string) => boolean): number {
  const found = world.documentVersions.find(
    (one) => one.kind === kind && one.doc !== undefined && isSo(one.doc, one.id),
  );
  return found?.revision ?? Infinity;
}

describe('a leaving host is not chosen', () => {
  test('scale-in-13: new-services-go-to-the-other-host', async () => {
    const world = await scaleInWorld();
    await world.net('m');
    await world.subnet('sub-m', 'm', '10.9.0.0/24', { dhcp: true });
    await world.place('one', 'a', 'm');
    await world.place('two', 'd', 'm');
    await world.start(['a'], { drain: false });
    await world.restart();
    await world.router('late', ['sub-m']);
    await world.settle();
    for (const service of ['nat:late', 'subnet-route:sub-m']) {
      expect(world.designatedHostOf(service)).toBe('d');
      expect(world.designationHistoryOf(service)).toEqual(['d']);
      expect(servers(world, service)).toEqual(['d']);
    }
    expectSound(world);
  });

  test('scale-in-14: one-move-from-the-leaving-host-to-a-staying-one, never through another leaving host', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'b', 'd');
    expect(world.designatedHostOf(NAT)).toBe('a');
    world.switchOf('d').faults.slowMs = 300;
    const watch = watchSwitches(world, NAT, ROUTE);
    await world.start(['a', 'b']);
    await world.untilState('drained', 'a', 'b');
    await world.settle();
    watch.stop();
    for (const service of [NAT, ROUTE]) expect(world.designationHistoryOf(service)).toEqual(['none', 'a', 'd']);
    expect(servers(world, NAT)).toEqual(['d']);
    expectSound(world);
  });

  test('connections-move-with-the-nat, also those that come meanwhile, and the leaving host has none left', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd');
    const zone = zoneOf(world, 'a', 'edge');
    const [leaver, stayer] = [world.switchOf('a'), world.switchOf('d')];
    const opened = [connection(1), connection(2)];
    leaver.track(zone, opened);
    await world.start(['a']);
    await world.until('it is switched', () => world.service(NAT).handover?.phase === 'switched');
    expect(stayer.listTrackedConnections(zone)).toEqual(opened);
    const late = connection(3);
    leaver.track(zone, [late]);
    await world.untilState('drained', 'a');
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBe('d');
    expect(stayer.listTrackedConnections(zone)).toEqual([...opened, late]);
    expect(leaver.listTrackedConnections(zone)).toEqual([]);
    expect(world.operations('handover').map(({ doc }) => doc.state)).toEqual(['succeeded']);
    expectSound(world);
  });

  test('scale-in-15: every-kind-of-service-moves-before-the-first-instance-does', async () => {
    const world = await scaleInWorld({ dhcp: true });
    const services = [NAT, ROUTE, DHCP];
    await world.place('one', 'a');
    await world.place('two', 'a');
    await presentOn(world, 'd');
    for (const service of services) expect(world.designatedHostOf(service)).toBe('a');
    world.switchOf('d').faults.slowMs = 300;
    const watch = watchSwitches(world, ...services);
    await world.start(['a']);
    await world.restartWhen((applied) => applied.some(({ kind }) => kind === SERVICE.name));
    await world.untilState('drained', 'a');
    await world.settle();
    watch.stop();
    const moving = firstAt(world, INSTANCE.name, (doc) => (doc as Instance).state === 'moving');
    expect(moving).toBeLessThan(Infinity);
    for (const service of services) {
      const moved = firstAt(
        world,
        SERVICE.name,
        (doc, id) => id === service && (doc as Service).designated?.host === 'd',
      );
      expect(moved).toBeLessThan(moving);
      expect(servers(world, service)).toEqual(['d']);
    }
    expect(world.copies('one')).not.toEqual(['a']);
    expectSound(world);
  });
});

describe('a service with only the leaving host as candidate', () => {
  test('scale-in-16: stays-there-degraded, and is as it was after recover', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a');
    const before = world.service(NAT);
    const watch = watchSwitches(world, NAT, ROUTE);
    await world.start(['a'], { drain: false });
    await world.settle();
    expect(world.service(NAT).designated).toMatchObject({ host: 'a', degraded: true });
    expect(servers(world, NAT)).toEqual(['a']);
    expect(world.states('a')).toEqual(['draining']);
    await world.restart();
    await world.recover(['a']);
    await world.untilState('active', 'a');
    await world.settle();
    watch.stop();
    expect(world.service(NAT).designated).toEqual(before.designated);
    expect(epochOf(world, NAT)).toBe(before.epoch);
    expect(servers(world, NAT)).toEqual(['a']);
    expectSound(world);
  });

  test('scale-in-17: ends-with-the-host-when-its-instances-are-gone', async () => {
    const world = await scaleInWorld({ dhcp: true });
    await presentOn(world, 'a');
    await world.start(['a'], { drain: false });
    await world.settle();
    await world.remove('on-a');
    await world.untilState('drained', 'a');
    await world.end(['a'], { disconnect: true });
    await world.untilState('removed', 'a');
    await world.settle();
    for (const service of [NAT, ROUTE, DHCP]) {
      expect(world.service(service)).not.toHaveProperty('designated');
      expect(servers(world, service)).toEqual([]);
    }
    expect(isWiped(world, 'a')).toBe(true);
    for (const host of HOSTS.slice(1)) expect(world.switchOf(host).contents.groups).toEqual([]);
    expectSound(world);
  });

  test('scale-in-18: a-service-that-was-not-served-is-elected-by-recover', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    await presentOn(world, 'a');
    expect((await http.patch(`/api/v1/services/${NAT}`, { exclusion: 'hard' })).status).toBe(200);
    const epoch = epochOf(world, NAT);
    await world.start(['a'], { drain: false });
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBeUndefined();
    expect(servers(world, NAT)).toEqual([]);
    await world.recover(['a']);
    await world.untilState('active', 'a');
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBe('a');
    expect(epochOf(world, NAT)).toBeGreaterThan(epoch);
    expect(servers(world, NAT)).toEqual(['a']);
    expectSound(world);
  });
});

describe('after a move', () => {
  test.each([false, true])('scale-in-19: back-only-if-asked-for (fail-back %s)', async (failBack) => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd');
    await world.start(['a'], { drain: false });
    await world.until('it has moved', () => world.designatedHostOf(NAT) === 'd');
    await world.settle();
    expect(world.designatedHostOf(ROUTE)).toBe('d');
    world.switchOf('a').faults.slowMs = 300;
    const watch = watchSwitches(world, NAT, ROUTE);
    await world.recover(['a'], { failBack });
    await world.restart();
    await world.untilState('active', 'a');
    await world.settle();
    watch.stop();
    const [host, other] = failBack ? ['a', 'd'] : ['d', 'a'];
    for (const service of [NAT, ROUTE]) {
      expect(world.designatedHostOf(service)).toBe(host);
      expect(servers(world, service)).toEqual([host]);
    }
    expect(sendsTo(world, other)).toEqual([host]);
    expectSound(world);
  });

  test('scale-in-20: presence-shrinks-port-by-port', async () => {
    const world = await scaleInWorld();
    await world.place('one', 'a');
    await world.place('two', 'a');
    await world.place('three', 'a');
    await presentOn(world, 'd');
    const epoch = epochOf(world, NAT);
    await world.remove('one');
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBe('a');
    expect(epochOf(world, NAT)).toBe(epoch);
    expect(servers(world, NAT)).toEqual(['a']);
    await world.remove('two', 'three');
    await world.settle();
    for (const service of [NAT, ROUTE]) {
      expect(world.designatedHostOf(service)).toBe('d');
      expect(servers(world, service)).toEqual(['d']);
    }
    expectSound(world);
  });

  test('scale-in-21: withdrawn-with-the-last-port, and elected again with the next one', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a');
    const epoch = epochOf(world, ROUTE);
    await world.remove('on-a');
    await world.settle();
    for (const service of [NAT, ROUTE]) {
      expect(world.service(service)).not.toHaveProperty('designated');
      expect(servers(world, service)).toEqual([]);
    }
    await world.place('next', 'e');
    await world.settle();
    for (const service of [NAT, ROUTE]) {
      expect(world.designatedHostOf(service)).toBe('e');
      expect(servers(world, service)).toEqual(['e']);
    }
    expect(epochOf(world, ROUTE)).toBeGreaterThan(epoch);
    expectSound(world);
  });

  test('scale-in-22: a-target-that-dies-while-it-is-prepared-is-replaced, and the old host goes on serving', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd', 'e');
    // Its switch does not answer: it never becomes ready.
    world.switchOf('d').faults.down = true;
    const watch = watchSwitches(world, NAT, ROUTE);
    await world.start(['a'], { drain: false });
    await world.until('d is being built', () => world.service(NAT).handover?.to === 'd');
    await world.clock.pass(5000);
    expect(world.designatedHostOf(NAT)).toBe('a');
    expect(servers(world, NAT)).toEqual(['a']);
    await world.agents.stop('d');
    const stoppedMs = world.nowMs;
    await world.restart();
    await world.until('another is tried', () => world.service(NAT).handover?.to === 'e');
    // As soon as it is missed, not when the handover has had its time.
    expect(world.nowMs - stoppedMs).toBeLessThanOrEqual(60_000);
    expect(servers(world, NAT)).toContain('a');
    await world.settle();
    watch.stop();
    for (const service of [NAT, ROUTE]) expect(world.designationHistoryOf(service)).toEqual(['none', 'a', 'e']);
    expect(servers(world, NAT)).toEqual(['e']);
    expect(sendsTo(world, 'a')).toEqual(['e']);
    expectSound(world);
  });
});
