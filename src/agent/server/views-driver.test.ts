import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { CURRENT_SERVICE_VERSION } from '../../hosts/index.ts';
import { ITEM } from '../../operations/index.ts';
import { TestHost } from '../node/agent-fixture.ts';
import { TestControlPlane } from './control-plane-fixture.ts';
import { LinkDown } from '../../link/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';

interface World {
  readonly clock: VirtualClock;
  readonly plane: TestControlPlane;
  readonly racks: readonly TestHost[];
}

const opened: World[] = [];
afterEach(async () => {
  for (const { plane, racks } of opened.splice(0)) {
    await Promise.all(racks.map((rack) => rack.stop()));
    await plane.close();
  }
});

async function worldOf(...names: readonly string[]): Promise<World> {
  const clock = new VirtualClock();
  const plane = new TestControlPlane(clock);
  await plane.start('s1');
  await clock.until('there is a lease holder', () => plane.hasLeader);
  await plane.register(...names);
  const racks: TestHost[] = [];
  for (const name of names) {
    const token = await plane.joinToken(name);
    const rack = new TestHost(plane, { name, servers: ['s1', 's2'], joinToken: () => Promise.resolve(token) });
    racks.push(rack);
    rack.start();
  }
  const world = { clock, plane, racks };
  opened.push(world);
  await clock.until('all are in service', () => names.every((name) => plane.host(name)?.state === 'active'));
  await clock.pass(10_000);
  return world;
}

interface WaitRequest {
  readonly hosts: readonly string[];
  readonly revision?: number;
  readonly leaseEpoch?: number;
  readonly serviceVersion?: number;
  readonly service?: string;
  readonly target?: string;
  readonly others?: readonly string[];
  readonly signal?: AbortSignal;
}

/** Calls the driver, and lets time pass until the answer is there. */
async function waitForViews(
  { clock, plane }: World,
  { hosts, revision, leaseEpoch, signal = new AbortController().signal, ...more }: WaitRequest,
): Promise<unknown> {
  const { journal, views } = plane.leader;
  const args = { hosts, revision: revision ?? journal.fleet.revision, ...more };
  const action = { driver: 'views', item: idOf(ITEM, 'op.x'), step: 'wait', attempt: 1, args };
  const fence = { leaseEpoch: leaseEpoch ?? journal.fence?.epoch ?? 0, operation: 'op', deadlineAtMs: 9e15, signal };
  let answer: unknown;
  void views.carryOut(action, fence).then((outcome) => (answer = outcome));
  await clock.until('there is an answer', () => answer !== undefined, 10_000);
  return answer;
}

const behind = (...hosts: readonly string[]) => ({
  kind: 'failed',
  reason: { code: 'hosts-behind', hosts, inAll: hosts.length },
});

describe('the driver views', () => {
  test('no-host-to-wait-for-and-all-hosts-converged-are-answered-at-once', async () => {
    const world = await worldOf('c1', 'c2');
    const startMs = world.clock.nowMs();
    expect(await waitForViews(world, { hosts: [] })).toEqual({ kind: 'applied' });
    expect(await waitForViews(world, { hosts: ['c1', 'c2'] })).toEqual({ kind: 'applied' });
    expect(world.clock.nowMs()).toBe(startMs);
  });

  test('a-change-is-waited-for-until-its-host-has-said-that-it-is-there', async () => {
    const world = await worldOf('c1', 'c2');
    const startMs = world.clock.nowMs();
    await world.plane.edit('c1', { zone: 'b' });
    expect(world.plane.leader.gateway.hasConverged('c1', world.plane.leader.journal.fleet.revision)).toBe(false);
    expect(await waitForViews(world, { hosts: ['c1', 'c2'] })).toEqual({ kind: 'applied' });
    // It says so without waiting for its next heartbeat.
    expect(world.clock.nowMs() - startMs).toBeLessThanOrEqual(1000);
  });

  test('a-wait-that-is-aborted-ends-at-once', async () => {
    const world = await worldOf('c1');
    world.racks[0]!.link.tap = () => Promise.reject(new LinkDown('cut'));
    await world.plane.edit('c1', { zone: 'b' });
    const startMs = world.clock.nowMs();
    const stop = new AbortController();
    const answer = waitForViews(world, { hosts: ['c1'], signal: stop.signal });
    stop.abort('cancelled');
    expect(await answer).toEqual(behind('c1'));
    expect(world.clock.nowMs() - startMs).toBeLessThan(1000);
    expect(await waitForViews(world, { hosts: ['c1'], signal: stop.signal })).toEqual(behind('c1'));
    expect(world.clock.nowMs() - startMs).toBeLessThan(1000);
  });

  test('nothing-of-a-wait-is-left-on-its-signal', async () => {
    const world = await worldOf('c1');
    const { signal } = new AbortController();
    await world.plane.edit('c1', { zone: 'b' });
    expect(await waitForViews(world, { hosts: ['c1'], signal })).toEqual({ kind: 'applied' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('what-was-asked-for-before-counts-though-more-has-changed-since', async () => {
    const world = await worldOf('c1');
    await world.plane.edit('c1', { zone: 'b' });
    const { revision } = world.plane.leader.journal.fleet;
    await world.clock.pass(1000);
    world.racks[0]!.link.tap = (name, pass) => (name === 'view' ? Promise.reject(new LinkDown('cut')) : pass());
    await world.plane.edit('c1', { zone: 'c' });
    expect(await waitForViews(world, { hosts: ['c1'], revision })).toEqual({ kind: 'applied' });
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual(behind('c1'));
  });

  test('a-change-that-concerns-a-host-not-at-all-does-not-make-it-late', async () => {
    const world = await worldOf('c1', 'c2');
    world.racks[1]!.link.tap = () => Promise.reject(new LinkDown('cut'));
    await world.plane.edit('c1', { zone: 'b' });
    expect(await waitForViews(world, { hosts: ['c2'] })).toEqual({ kind: 'applied' });
  });

  test('those-who-are-behind-are-named-and-no-more-than-ten-of-them', async () => {
    const names = Array.from({ length: 12 }, (_, nth) => `h${nth + 10}`);
    const world = await worldOf('c1');
    expect(await waitForViews(world, { hosts: ['c1', ...names] })).toEqual({
      ...behind(),
      reason: { code: 'hosts-behind', hosts: names.slice(0, 10), inAll: 12 },
    });
  });

  test('a-host-that-cannot-apply-its-view-is-behind-until-it-can', async () => {
    const world = await worldOf('c1');
    const [rack] = world.racks;
    const obstacles: string[] = ['the bridge is locked'];
    Object.assign(rack!.driver, {
      apply: () =>
        Promise.resolve(obstacles.length > 0 ? { kind: 'failed', problems: obstacles } : { kind: 'applied' }),
    });
    await world.plane.edit('c1', { zone: 'b' });
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual(behind('c1'));
    obstacles.length = 0;
    await world.clock.pass(15_000);
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual({ kind: 'applied' });
  });

  test('a-target-with-bfd-down-is-reported-while-another-has-bfd-up', async () => {
    const world = await worldOf('c1', 'c2', 'c3');
    const wait = { hosts: ['c1'], service: 'nat:r1', target: 'c1', others: ['c2', 'c3'] };
    expect(await waitForViews(world, wait)).toEqual({ kind: 'applied' });
    world.plane.bfdDownByMajority.add('c1').add('c2');
    const reason = { code: 'target-bfd-down', service: 'nat:r1', host: 'c1', alternative: 'c3' };
    expect(await waitForViews(world, wait)).toEqual({ kind: 'failed', reason });
    world.plane.bfdDownByMajority.add('c3');
    expect(await waitForViews(world, wait)).toEqual({ kind: 'applied' });
  });

  test('a-target-whose-bfd-goes-down-while-it-is-waited-for-is-reported', async () => {
    const world = await worldOf('c1', 'c2');
    await world.plane.edit('c1', { zone: 'b' });
    const waiting = waitForViews(world, { hosts: ['c1'], service: 'nat:r1', target: 'c1', others: ['c2'] });
    world.plane.bfdDownByMajority.add('c1');
    expect(await waiting).toMatchObject({ kind: 'failed', reason: { code: 'target-bfd-down', alternative: 'c2' } });
  });

  test('a-host-that-goes-away-is-behind-and-one-that-starts-anew-counts', async () => {
    const world = await worldOf('c1');
    const [rack] = world.racks;
    await rack!.stop();
    await world.plane.edit('c1', { zone: 'b' });
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual(behind('c1'));
    rack!.start();
    await world.clock.pass(1000);
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual({ kind: 'applied' });
  });

  test('an-agent-that-knows-less-than-is-asked-for-is-behind', async () => {
    const world = await worldOf('c1');
    expect(await waitForViews(world, { hosts: ['c1'], serviceVersion: CURRENT_SERVICE_VERSION })).toEqual({
      kind: 'applied',
    });
    const newer = CURRENT_SERVICE_VERSION + 1;
    expect(await waitForViews(world, { hosts: ['c1'], serviceVersion: newer })).toEqual(behind('c1'));
  });

  test('a-removed-host-has-converged-on-nothing', async () => {
    const world = await worldOf('c1');
    for (const state of ['draining', 'drained', 'finalizing', 'removed'] as const)
      await world.plane.edit('c1', { state });
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual(behind('c1'));
  });

  test('a-new-holder-knows-nothing-until-agents-report', async () => {
    const world = await worldOf('c1');
    const { clock, plane } = world;
    const old = plane.leader;
    const { revision } = old.journal.fleet;
    await plane.start('s2');
    await old.stop();
    await clock.until('another decides', () => plane.hasLeader && plane.leader !== old);
    expect(plane.leader.gateway.hasConverged('c1', revision)).toBe(false);
    await clock.until('its agent has said so', () => plane.leader.gateway.hasConverged('c1', revision), 30_000);
    expect(await waitForViews(world, { hosts: ['c1'] })).toEqual({ kind: 'applied' });
  });

  test('under-another-lease-the-answer-is-nobodys', async () => {
    const world = await worldOf('c1');
    expect(await waitForViews(world, { hosts: ['c1'], leaseEpoch: 99 })).toEqual({ kind: 'stale' });
  });
});
