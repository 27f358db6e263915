// Designations when hosts are lost, weighted or upgraded, or when nothing is left to do; and how the choice is explained.
import { describe, expect, test } from 'vitest';
import { SERVICE } from '../../../src/election/index.ts';
import { HttpApi } from './http-fixture.ts';
import { expectSound, sendsTo, servers } from './switches-fixture.ts';
import { HOSTS, scaleInWorld, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const NAT = 'nat:edge';
const ROUTE = 'subnet-route:sub';

/** The host that takes over a's services when a is lost: d, which was standby before e joined. */
const TAKEN_OVER = [
  [NAT, 'd'],
  [ROUTE, 'd'],
] as const;

/**
 * The checklist requires another designation within 15 s of the cut; a host counts as lost when it was silent for 15 s. Both hold: the last heartbeat came
 * before the cut, and the pass comes on time. What is left is the time of the two commits, which here is none. If they conflicted, the 15 s of silence
 * would win: a host is not considered lost sooner.
 */
const MISSED_MS = 15_000;

async function presentOn(world: ScaleInAcceptanceWorld, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) {
    await world.place(`on-${host}`, host);
    await world.settle();
  }
}

describe('weights', () => {
  /** Two routers, each with presence on a and on b, elected in one go. */
  async function twoRouters(baseWeight: number): Promise<ScaleInAcceptanceWorld> {
    const world = await scaleInWorld({ hosts: { b: { baseWeight } } });
    await world.holdElections(true);
    for (const nth of [1, 2]) {
      await world.net(`m${nth}`);
      await world.subnet(`sub-m${nth}`, `m${nth}`, `10.${nth}.0.0/24`);
      await world.router(`r${nth}`, [`sub-m${nth}`]);
      for (const host of ['a', 'b']) await world.place(`m${nth}-${host}`, host, `m${nth}`);
    }
    await world.settle();
    expect(world.designatedHostOf('nat:r1')).toBeUndefined();
    await world.holdElections(false);
    await world.settle();
    return world;
  }

  test('scale-in-23: the-host-with-base-weight-2-gets-both-routers', async () => {
    const world = await twoRouters(2);
    expect(['nat:r1', 'nat:r2'].map((service) => world.designatedHostOf(service))).toEqual(['b', 'b']);
    expect(servers(world, 'nat:r1')).toEqual(['b']);
    expectSound(world);
  });

  test('scale-in-23: without-base-weights-each-gets-one', async () => {
    const world = await twoRouters(0);
    expect(['nat:r1', 'nat:r2'].map((service) => world.designatedHostOf(service))).toEqual(['a', 'b']);
    const all = world.all(SERVICE).flatMap(({ doc }) => doc.designated?.host ?? []);
    expect(all.sort()).toEqual(['a', 'a', 'b', 'b']);
    expectSound(world);
  });
});

describe('an upgrade', () => {
  test('scale-in-24: no-other-host-is-elected-while-the-flag-is-set', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd');
    await world.holdElections(true);
    await world.disconnect('a');
    await world.restart();
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBe('a');
    // It was only late.
    await world.reconnect('a');
    await world.holdElections(false);
    await world.settle();
    expect(world.designationHistoryOf(NAT)).toEqual(['none', 'a']);
    expectSound(world);
  });

  test('scale-in-24: a-host-that-is-missing-when-the-flag-is-cleared-loses-its-services', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd', 'e');
    await world.holdElections(true);
    await world.disconnect('a');
    await world.settle();
    expect(servers(world, NAT)).toEqual(['a']);
    await world.holdElections(false);
    await world.settle();
    for (const [service, host] of TAKEN_OVER) {
      expect(world.designatedHostOf(service)).toBe(host);
      expect(world.service(service).why).toMatchObject({ cause: 'host-lost', chosen: host });
      expect(servers(world, service)).toContain(host);
    }
    expect(sendsTo(world, 'e')).toEqual(['d']);
    expectSound(world);
  });
});

describe('control of the designated host is lost', () => {
  test('a-host-to-which-BFD-is-down-at-most-peers-loses-its-services-to-the-standby, though-it-is-connected', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd', 'e');
    const { standby = '', epoch } = world.service(NAT);
    expect(['d', 'e']).toContain(standby);
    world.bfdDown.add('a');
    await world.until('the standby has it', () => world.designatedHostOf(NAT) === standby);
    expect(world.host('a')?.connection.state).toBe('up');
    await world.settle();
    world.bfdDown.clear();
    await world.settle();
    expect(world.service(NAT)).toMatchObject({ designated: { host: standby }, epoch: epoch + 1 });
    expect(servers(world, NAT)).toEqual([standby]);
    expectSound(world);
  });

  /** Cuts a host off this long after a heartbeat; returns the times of both. */
  async function cutOff(
    world: ScaleInAcceptanceWorld,
    host: string,
    silentMs: number,
  ): Promise<{ cutMs: number; lastHeartbeatMs: number }> {
    const lastMs = (): number | undefined => world.server.liveness.lastHeartbeatMs(host);
    const before = lastMs();
    await world.until('it is connected', () => lastMs() !== before);
    await world.clock.pass(silentMs);
    const lastHeartbeatMs = lastMs() ?? 0;
    await world.agents.stop(host);
    return { cutMs: world.nowMs, lastHeartbeatMs };
  }

  const isTakenOver = (world: ScaleInAcceptanceWorld): boolean =>
    TAKEN_OVER.every(([service, host]) => world.designatedHostOf(service) === host);

  // Heartbeats come every 5 s: at once after one, between two, just before the next.
  test.each([0, 1, 1234, 3000, 4900])(
    'scale-in-25: another-is-designated-within-15-seconds-of-a-cut, %i ms after a heartbeat',
    async (silentMs) => {
      const world = await scaleInWorld();
      await presentOn(world, 'a', 'd', 'e');
      const { cutMs, lastHeartbeatMs } = await cutOff(world, 'a', silentMs);
      expect(cutMs - lastHeartbeatMs).toBe(silentMs);
      await world.until('others are designated', () => isTakenOver(world));
      expect(world.nowMs - cutMs).toBeLessThanOrEqual(MISSED_MS);
      // And not before it was silent for as long as a host may be.
      expect(world.nowMs - lastHeartbeatMs).toBe(MISSED_MS);
    },
  );

  test('scale-in-25: peers-send-to-another, and the first one stops serving when it is back', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd', 'e');
    await world.agents.stop('a');
    await world.until('others are designated', () => isTakenOver(world));
    await world.until('its peers know', () => sendsTo(world, 'e').join() === 'd');
    expect(servers(world, NAT)).toContain('d');
    // Its flows stay while it is unreachable.
    expect(servers(world, NAT)).toContain('a');
    await world.reconnect('a');
    await world.settle();
    for (const [service, host] of TAKEN_OVER) expect(servers(world, service)).toEqual([host]);
    expect(world.designationHistoryOf(NAT)).toEqual(['none', 'a', 'd']);
    expectSound(world);
  });

  test('scale-in-25: two-of-five-that-die-together-are-lost, as the rest of their site reports', async () => {
    const world = await scaleInWorld();
    await world.start(['f', 'g']);
    await world.untilState('drained', 'f', 'g');
    await world.end(['f', 'g'], { disconnect: true });
    await world.untilState('removed', 'f', 'g');
    await presentOn(world, 'a', 'd', 'e');
    const cutOffMs = world.nowMs;
    for (const host of ['a', 'b']) await world.agents.stop(host);
    await world.until('others are designated', () => isTakenOver(world));
    expect(world.nowMs - cutOffMs).toBeLessThanOrEqual(MISSED_MS);
    await world.until('they are down', () => ['a', 'b'].every((host) => world.host(host).connection.state === 'down'));
    expectSound(world);
  });

  test('scale-in-25: a-service-may-stay-while-BFD-to-its-host-is-up', async () => {
    const world = await scaleInWorld();
    const http = await HttpApi.start(world);
    await presentOn(world, 'a', 'd');
    expect((await http.patch(`/api/v1/services/${NAT}`, { onControlLoss: 'hold' })).status).toBe(200);
    await world.disconnect('a');
    await world.settle();
    expect(world.designatedHostOf(NAT)).toBe('a');
    expect(world.designatedHostOf(ROUTE)).toBe('d');
    // Its data path dies too.
    world.bfdDown.add('a');
    await world.until('it moves', () => world.designatedHostOf(NAT) === 'd');
    await world.settle();
    expect(servers(world, NAT)).toContain('d');
    expectSound(world);
  });
});

describe('nothing is left to do', () => {
  test('scale-in-26: with-a-router-goes-every-row-that-mentions-it', async () => {
    const world = await scaleInWorld();
    await presentOn(world, 'a', 'd');
    await world.start(['a'], { drain: false });
    await world.until('it is handed over', () => world.service(NAT).handover !== undefined);
    await world.removeRouter('edge');
    await world.restart();
    await world.settle();
    expect(world.all(SERVICE)).toEqual([]);
    const rows = [...world.fleet.registry.kinds.values()].flatMap((kind) =>
      [...world.fleet.all(kind)].flatMap(({ id, doc }) => (isAbout(id, doc) ? [`${kind.name} ${id}`] : [])),
    );
    expect(rows.filter((row) => !/^(operation|item|setting)/.test(row))).toEqual([]);
    for (const host of HOSTS) {
      // The remaining packets flood a network; nothing leads to a host with the router's services.
      expect(sendsTo(world, host)).toEqual([]);
      expect(JSON.stringify(world.switchOf(host).contents.flows)).not.toContain('203.0.113.');
    }
    expectSound(world);
  });

  function isAbout(id: string, doc: object): boolean {
    return `${id} ${JSON.stringify(doc)}`.includes('edge');
  }
});

describe('why', () => {
  test('scale-in-34: candidates-rejections-and-scores-are-shown', async () => {
    const world = await scaleInWorld({ hosts: { e: { baseWeight: -3 }, f: { tunnelAddress: undefined as never } } });
    const http = await HttpApi.start(world);
    await world.holdElections(true);
    for (const host of ['a', 'c', 'd', 'e', 'f']) await world.place(`on-${host}`, host);
    await world.start(['a'], { drain: false });
    await world.disconnect('c');
    await world.holdElections(false);
    await world.settle();
    const { status, body } = await http.get(`/api/v1/services/${NAT}/why`);
    expect(status).toBe(200);
    const expected = {
      cause: 'first-election',
      chosen: 'd',
      candidates: [
        { host: 'd', score: 0 },
        { host: 'e', score: 3 },
      ],
      candidatesInAll: 2,
      rejected: [
        { host: 'a', because: 'tombstoned' },
        { host: 'c', because: 'not-connected' },
        { host: 'f', because: 'no-tunnel-address' },
      ],
      rejectedInAll: 3,
    };
    expect(body).toMatchObject({ service: NAT, why: expected, designated: { host: 'd' } });
    const { sentences } = body as { readonly sentences: readonly string[] };
    for (const host of ['a', 'c', 'd', 'e', 'f']) expect(sentences.join(' ')).toMatch(new RegExp(`\\b${host}\\b`));
  });
});
