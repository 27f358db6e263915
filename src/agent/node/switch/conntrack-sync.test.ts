// Connections go from the host that translates to the one that takes over, and nothing counts as converged before they are there.
import { describe, expect, test } from 'vitest';
import { compile, formatConnection, readDataplaneView, type TrackedConnection } from '../../../dataplane/index.ts';
import { SimulatedSwitch } from '../../../dataplane/runtime.ts';
import type { Tap } from '../agent-fixture.ts';
import { CrashingPorts, type Crash } from '../crashing-ports-fixture.ts';
import { CertificateKeeper, LeaderClient, LinkDown } from '../../../link/index.ts';
import { verifyFake } from '../../protocol/signer-fixture.ts';
import { Membership } from '../membership.ts';
import { AgentStateStore } from '../state/agent-state-store.ts';
import { StateMemoryDisk } from '../state/memory-disk.ts';
import { DEPOSIT_MAX, type View } from '../../protocol/messages.ts';
import { TestControlPlane, SILENT } from '../../server/control-plane-fixture.ts';
import type { LocalDriver } from '../ports.ts';
import { ConntrackSync } from './conntrack-sync.ts';
import { SimulatedNodeDriver } from '../../simulation/simulated-node.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';
import { NAT, ConntrackSyncWorld } from './conntrack-sync-fixture.ts';

const connection = (nth: number): TrackedConnection => ({
  protocol: 'udp',
  src: `10.0.${Math.floor(nth / 250)}.${nth % 250}`,
  sport: 4000,
  dst: '203.0.113.9',
  dport: 53,
  natSource: { ip: '198.51.100.7', port: 1024 + (nth % 60_000) },
});
const ONE = connection(1);
const TWO = connection(2);
const EXTRA: TrackedConnection = { ...ONE, src: '10.9.9.9' };
const texts = (...some: readonly TrackedConnection[]): string[] => some.map((one) => formatConnection(one)).sort();

/** c1 does the NAT and has a connection; c2 is built to take it. */
async function startPrepared(servers?: readonly string[]): Promise<ConntrackSyncWorld> {
  const world = await ConntrackSyncWorld.start(['c1', 'c2', 'c3'], servers);
  await world.designate('c1');
  await world.untilConverged('c1');
  world.track('c1', [ONE]);
  await world.setHandoverPhase('c1', 'c2', 'preparing');
  await world.untilConverged('c1', 'c2');
  return world;
}

/** One that knows nothing of connections. */
function plainDriver(driver: LocalDriver): LocalDriver {
  return {
    apply: (...args) => driver.apply(...args),
    perform: (...args) => driver.perform(...args),
    inspect: () => driver.inspect(),
  };
}

const NEVER = new AbortController().signal;

/** A view of a host that sends what is to be translated to another. */
function otherAt(host: string): View {
  const service = { id: NAT, type: 'nat', epoch: 1, role: 'other', designated: { host: 'c9' }, subnets: [] };
  const stamp = { journalId: 'journal-1', leaseEpoch: 1, revision: 1 };
  return { host, stamp, digest: 'd1', parts: { peers: [], services: [service] }, tasks: [] };
}

/** Nothing of a call arrives. */
const loseReplies =
  (lost: string): Tap =>
  (name, pass) =>
    name === lost ? Promise.reject(new LinkDown('lost')) : pass();

describe('a planned handover', () => {
  test('copies-before-the-switch-and-again-after-it-and-forgets-where-it-was', async () => {
    const world = await startPrepared();
    expect(await world.listTracked('c2')).toEqual([]);
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
    world.track('c1', [TWO]);
    await world.setHandoverPhase('c1', 'c2', 'switched');
    await world.setHandoverPhase('c1', 'c2', 'retiring');
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
    await world.setHandoverPhase('c1', 'c2', 'resyncing');
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c2')).toEqual(texts(ONE, TWO));
    expect(await world.listTracked('c1')).toEqual(texts(ONE, TWO));
    await world.designate('c2');
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c1')).toEqual([]);
    expect(await world.listTracked('c2')).toEqual(texts(ONE, TWO));
  });

  test('each-end-does-it-once-for-each-time-that-it-is-asked-for', async () => {
    const world = await startPrepared();
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1', 'c2');
    // Something else in the view is another: it is applied anew, and nothing is copied for it.
    await world.plane.edit('c1', { zone: 'other' });
    await world.plane.edit('c2', { zone: 'other' });
    await world.untilConverged('c1', 'c2');
    const called = (name: string, what: string): number =>
      world.host(name).testHost.link.calls.filter((call) => call === what).length;
    expect([called('c1', 'deposit'), called('c2', 'collect')]).toEqual([1, 1]);
    expect([called('c1', 'collect'), called('c2', 'deposit'), called('c3', 'collect')]).toEqual([0, 0, 0]);
  });

  test('another-target-gets-them-too-and-the-one-before-forgets-them', async () => {
    const world = await startPrepared();
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1', 'c2');
    await world.setHandoverPhase('c1', 'c3', 'preparing');
    await world.untilConverged('c1', 'c2', 'c3');
    expect(await world.listTracked('c2')).toEqual([]);
    await world.setHandoverPhase('c1', 'c3', 'syncing');
    await world.untilConverged('c1', 'c3');
    expect(await world.listTracked('c3')).toEqual(texts(ONE));
  });

  test('also-when-another-one-in-between-was-not-seen', async () => {
    const world = await startPrepared();
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1', 'c2');
    await world.setHandoverPhase('c1', 'c3', 'syncing');
    await world.untilConverged('c1', 'c2', 'c3');
    expect(await world.listTracked('c3')).toEqual(texts(ONE));
    expect(await world.listTracked('c2')).toEqual([]);
  });

  test('more-than-are-copied-at-most-are-cut-and-the-rest-goes', async () => {
    const world = await startPrepared();
    world.track(
      'c1',
      Array.from({ length: DEPOSIT_MAX }, (_, nth) => connection(nth + 1)),
    );
    world.track('c1', [EXTRA]);
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1', 'c2');
    const taken = await world.listTracked('c2');
    expect(taken).toHaveLength(DEPOSIT_MAX);
    expect(taken).not.toContain(formatConnection(EXTRA));
  });
});

describe('no host has converged before it is done', () => {
  test('the-new-end-waits-for-the-old-one', async () => {
    const world = await startPrepared();
    world.host('c1').testHost.link.tap = loseReplies('deposit');
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.clock.pass(12_000);
    expect([world.hasConverged('c1'), world.hasConverged('c2')]).toEqual([false, false]);
    expect(world.host('c2').testHost.agent?.status().problems).toEqual([`${NAT}: its connections have not come yet`]);
    // What is copied for one service does not hold up the host.
    const { gateway, journal } = world.plane.leader;
    expect(['c1', 'c2'].map((name) => gateway.hasConverged(name, journal.fleet.revision))).toEqual([true, true]);
    expect(gateway.reports.unreadinessOf('c2', NAT)).toBe('its connections have not come yet');
    expect(gateway.reports.unreadinessOf('c2', 'nat:back')).toBeUndefined();
    world.host('c1').testHost.link.tap = (_name, pass) => pass();
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
  });

  test.each(['c1', 'c2'])('a-switch-that-does-not-answer: %s', async (name) => {
    const world = await startPrepared();
    world.host(name).simulatedSwitch.faults.down = true;
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.clock.pass(8000);
    expect(world.hasConverged(name)).toBe(false);
    world.host(name).simulatedSwitch.faults.down = false;
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
  });

  test('two-that-handover-to-each-other-do-not-wait-for-each-other', async () => {
    const world = await startPrepared();
    await world.designate('c2', 'nat:back');
    await world.untilConverged('c2');
    world.track('c2', [TWO], 'nat:back');
    await world.setHandoverPhase('c2', 'c1', 'preparing', 'nat:back');
    await world.untilConverged('c1', 'c2');
    const startedMs = world.clock.nowMs();
    await world.startCrossHandover('c1', 'c2', 'nat:back');
    await world.untilConverged('c1', 'c2');
    expect(world.clock.nowMs() - startedMs).toBeLessThan(2000);
    expect(await world.listTracked('c1', 'nat:back')).toEqual(texts(TWO));
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
  });

  test('a-handover-that-is-cancelled-keeps-no-host-waiting', async () => {
    const world = await startPrepared();
    world.host('c1').testHost.link.tap = loseReplies('deposit');
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.clock.pass(2000);
    await world.designate('c1');
    const startedMs = world.clock.nowMs();
    await world.untilConverged('c2');
    expect(world.clock.nowMs() - startedMs).toBeLessThan(1000);
    expect(await world.listTracked('c2')).toEqual([]);
  });

  test('a-driver-that-knows-nothing-of-it-has-nothing-to-do', async () => {
    const world = await startPrepared();
    for (const name of ['c1', 'c2']) {
      await world.restart(name, { driver: plainDriver(world.host(name).testHost.driver) });
    }
    const startedMs = world.clock.nowMs();
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1', 'c2');
    expect(world.clock.nowMs() - startedMs).toBeLessThan(2000);
    expect(await world.listTracked('c2')).toEqual([]);
  });
});

describe('another holder', () => {
  test('the-old-end-brings-them-again-and-the-new-end-gets-them', async () => {
    const world = await startPrepared(['s1', 's2']);
    world.host('c2').testHost.link.tap = loseReplies('collect');
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    await world.untilConverged('c1');
    const before = world.plane.leader;
    await before.stop();
    world.host('c2').testHost.link.tap = (_name, pass) => pass();
    await world.clock.until('another server decides', () => world.plane.hasLeader && world.plane.leader !== before);
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
    expect(world.host('c1').testHost.link.calls.filter((call) => call === 'deposit').length).toBeGreaterThan(1);
  });
});

describe('connections are forgotten', () => {
  test('where-the-service-is-gone', async () => {
    const world = await startPrepared();
    await world.withdraw();
    await world.untilConverged('c1');
    expect(await world.listTracked('c1')).toEqual([]);
  });

  test('also-by-an-agent-that-was-started-anew-meanwhile', async () => {
    const world = await startPrepared();
    await world.host('c1').testHost.stop();
    await world.designate('c2');
    world.host('c1').testHost.start();
    await world.untilConverged('c1');
    expect(await world.listTracked('c1')).toEqual([]);
  });

  test('where-it-was-translated-and-is-stood-by-for-now', async () => {
    const world = await startPrepared();
    await world.designateWith('c2', 'c1');
    await world.untilConverged('c1', 'c2');
    expect(await world.listTracked('c1')).toEqual([]);
  });

  test('not-of-a-standby-that-others-send-to: started-anew, or-designated-for-it', async () => {
    const world = await startPrepared();
    await world.designateWith('c1', 'c3');
    await world.untilConverged('c3');
    world.track('c3', [TWO]);
    await world.restart('c3');
    await world.designateWith('c1', 'c3');
    await world.untilConverged('c3');
    expect(await world.listTracked('c3')).toEqual(texts(TWO));
    await world.designateWith('c3', 'c2');
    await world.untilConverged('c3');
    expect(await world.listTracked('c3')).toEqual(texts(TWO));
  });

  test('of-a-host-that-stands-by-no-more: an-agent-before-it-may-have-left-them', async () => {
    const world = await startPrepared();
    await world.designateWith('c1', 'c3');
    await world.untilConverged('c3');
    await world.restart('c3');
    world.track('c3', [TWO]);
    await world.untilConverged('c3');
    expect(await world.listTracked('c3')).toEqual(texts(TWO));
    await world.designateWith('c1', 'c2');
    await world.untilConverged('c3');
    expect(await world.listTracked('c3')).toEqual([]);
  });

  test('of-a-standby-that-takes-over-by-plan, so-that-they-are-not-in-the-way', async () => {
    const world = await startPrepared();
    await world.designateWith('c1', 'c3');
    await world.untilConverged('c1', 'c3');
    world.track('c3', [{ ...ONE, natSource: { ip: '198.51.100.7', port: 2000 } }]);
    world.track('c1', [ONE]);
    await world.setHandoverPhase('c1', 'c3', 'preparing');
    await world.untilConverged('c1', 'c3');
    expect(await world.listTracked('c3')).toEqual([]);
    await world.setHandoverPhase('c1', 'c3', 'syncing');
    await world.untilConverged('c1', 'c3');
    expect(await world.listTracked('c3')).toEqual(texts(ONE));
  });

  test.each(['first', 'later'])(
    'and-what-an-agent-before-it-left-undone: of a service of the %s view',
    async (which) => {
      const clock = new VirtualClock();
      const its = new SimulatedSwitch({ host: 'c1', clock });
      const driver = new SimulatedNodeDriver({ clock, switch: its });
      const view = otherAt('c1');
      await driver.apply(view, NEVER);
      const zone = compile(readDataplaneView('c1', view.parts)!).zones.get(NAT)!;
      its.track(zone, [ONE]);
      const plane = new TestControlPlane(clock);
      const ports = {
        link: plane.link,
        disk: new StateMemoryDisk(),
        driver,
        clock,
        ids: plane.ids,
        random: () => 0.5,
        log: SILENT,
        verify: verifyFake,
      };
      const leader = new LeaderClient(['s1'], SILENT);
      const parts = { leader, store: new AgentStateStore(ports.disk, SILENT) };
      const membership = new Membership(
        ports,
        { joinToken: async () => undefined },
        { ...parts, certificates: new CertificateKeeper(ports, { ...parts, program: 'agent' }) },
      );
      const conntrackSync = new ConntrackSync(ports, { leader, membership });
      if (which === 'later') {
        await conntrackSync.sync({ ...view, parts: { ...view.parts, services: [] } }, NEVER);
        expect(await its.listConnections(zone)).toHaveLength(1);
      }
      expect(await conntrackSync.sync(view, NEVER)).toEqual([]);
      expect(await its.listConnections(zone)).toEqual([]);
    },
  );

  test.each([0, 1])(
    'and-on-a-host-that-leaves, which does not know of them when it joins again: down %i times',
    async (times) => {
      const clock = new VirtualClock();
      const its = new SimulatedSwitch({ host: 'c1', clock });
      const driver = new SimulatedNodeDriver({ clock, switch: its });
      const view = otherAt('c1');
      await driver.apply(view, NEVER);
      const zone = compile(readDataplaneView('c1', view.parts)!).zones.get(NAT)!;
      its.track(zone, [ONE]);
      const { flushConnections } = its;
      let calls = 0;
      its.flushConnections = async (at) => {
        calls += 1;
        its.faults.down = calls <= times;
        return flushConnections.call(its, at).finally(() => (its.faults.down = false));
      };
      const leave = { id: 'leave:1', kind: 'leave', args: {} };
      const fence = { stamp: view.stamp, host: 'c1', serviceVersion: 5, signal: NEVER };
      for (let time = 0; time < times; time += 1)
        expect(await driver.perform(leave, fence)).toMatchObject({ outcome: 'failed' });
      expect(await driver.perform(leave, fence)).toEqual({ outcome: 'done' });
      expect(its.listTrackedConnections(zone)).toEqual([]);
    },
  );

  test('it-is-tried-again-when-the-switch-does-not-answer', async () => {
    const world = await startPrepared();
    const { simulatedSwitch, testHost } = world.host('c1');
    const { flushConnections } = simulatedSwitch;
    let tries = 0;
    simulatedSwitch.flushConnections = async (zone) => {
      tries += 1;
      simulatedSwitch.faults.down = tries < 3;
      return flushConnections.call(simulatedSwitch, zone).finally(() => (simulatedSwitch.faults.down = false));
    };
    await world.designate('c2');
    await world.untilConverged('c1');
    expect(tries).toBe(3);
    expect(await world.listTracked('c1')).toEqual([]);
    expect(testHost.agent?.status().problems).toEqual([]);
  });
});

describe('an agent that crashes at any of its calls', { timeout: 60_000 }, () => {
  async function run(name: string, crash?: Crash): Promise<readonly string[]> {
    const world = await startPrepared();
    const { testHost } = world.host(name);
    const ports = new CrashingPorts(crash);
    const { link, disk, driver } = testHost;
    await world.restart(name, ports.wrap({ link, disk, driver, clock: world.clock }));
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    let restarted = false;
    await world.clock.until('both have converged', () => {
      if (ports.hasCrashed && !restarted) testHost.start();
      restarted ||= ports.hasCrashed;
      return world.hasConverged('c1', 'c2');
    });
    expect(await world.listTracked('c2')).toEqual(texts(ONE));
    expect(await world.listTracked('c1')).toEqual(texts(ONE));
    return ports.calls;
  }

  test.each(['c1', 'c2'])('is-started-again-and-the-end-is-the-same: %s', async (name) => {
    const calls = await run(name);
    expect(calls).toContain(name === 'c1' ? 'link.deposit' : 'driver.takeOver');
    for (let at = 1; at <= calls.length; at += 1) {
      for (const effect of ['before', 'after'] as const) await run(name, { at, effect });
    }
  });
});
