// Draining hosts: services first, then everything else within the budgets, with a reason for every wait; and the handling of a host that is
// down, or on which a tenant appears.
import { describe, expect, test } from 'vitest';
import { accept } from '../../journal/index.ts';
import { ITEM, OPERATION, type StoredItem } from '../../operations/index.ts';
import { idOf } from '../../fleet/index.ts';
import { clearForceDown, findHost, forceDownHost, type StoredHost } from '../decide.ts';
import { runInOneStep, type Evacuator } from '../evacuator.ts';
import { recordTransitions } from '../liveness/plan.ts';
import { drainStep } from './drain.ts';
import { guests, holding, activeHosts, posts, ScaleInWorld } from './scale-in-fixture.ts';
import { DRAIN_MOVES, EVERY_MOVE, movesOff } from './moves.ts';

const on = (host: string, ...names: readonly string[]) => names.map((name) => guests.put(name, { host }));

async function started(world: ScaleInWorld, ...hosts: readonly string[]): Promise<string> {
  return (await world.commit(world.starting(hosts))).operation ?? '';
}

describe('a drain', () => {
  test('empties-hosts-and-calls-them-drained', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c3'), ...on('c1', 'a', 'b'), ...on('c2', 'c'));
    const operation = await started(world, 'c1', 'c2');
    await world.settle();
    expect(world.states('c1', 'c2')).toBe('c1 drained, c2 drained');
    expect(guests.on(world.fleet, 'c3')).toEqual(['a', 'b', 'c']);
    expect(world.operationState(operation)).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('lets-services-change-hands-before-the-first-guest-leaves', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      ...on('c1', 'a'),
      posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
      posts.put('dhcp', { host: 'c1', presence: ['c1', 'c2'] }),
    );
    await started(world, 'c1');
    await world.settle();
    expect(world.driver.moved.toSorted().slice(0, 1)).toEqual(['a']);
    expect(world.driver.moved.slice(0, 2).toSorted()).toEqual(['dhcp', 'nat']);
    expect(world.states('c1')).toBe('c1 drained');
  });

  test('a-service-without-another-candidate-does-not-keep-the-guests, and gets one by their move', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      ...on('c1', 'a'),
      posts.put('nat', { host: 'c1', presence: ['c1'] }),
    );
    await started(world, 'c1');
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
    expect(posts.on(world.fleet, 'c1')).toEqual(['nat']);
  });

  test('holds-still-while-elections-are-held, and says so', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      ...on('c1', 'a'),
      posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
    );
    holding.reason = { code: 'elections-held' };
    const operation = await started(world, 'c1');
    await world.settle();
    expect(world.open()).toEqual([`${operation}.c1 handover waiting (elections-held)`]);
    expect(world.driver.moved).toEqual([]);
    delete holding.reason;
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
  });

  test('services-that-wait-for-their-turn-are-not-said-to-be-handed-over', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'));
    const operation = await started(world, 'c1');
    const item = world.fleet.get(ITEM, idOf(ITEM, `${operation}.c1`)) as StoredItem;
    // As many as may be at once are being handed over, off other hosts.
    const tenant = { kind: 'post', id: 'nat' };
    const full: Evacuator = {
      ...posts.evacuator,
      inventory: () => [tenant],
      countLeaving: () => 0,
      plan: () => runInOneStep([{ host: 'c1', tenant, evacuation: { kind: 'move', how: 'handover', to: 'c2' } }]),
      begin: () => runInOneStep({ changes: [] }),
    };
    const host = findHost(world.fleet, 'c1') as StoredHost;
    const look = { fleet: world.fleet, item, host, by: 'ann', within: undefined, nowMs: world.nowMs };
    const [step] = drainStep({ ...look, evacuators: [full] });
    expect(step?.progress.reason).toEqual({ code: 'handover-budget', host: 'c1' });
  });

  test('a-host-that-is-down-with-nothing-but-what-is-not-moved-says-what-that-is', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), ...on('c1', 'a'));
    await world.connect('c1', 'down');
    const operation = await started(world, 'c1');
    const item = world.fleet.get(ITEM, idOf(ITEM, `${operation}.c1`)) as StoredItem;
    const reason = { code: 'port-bound', port: 'p1', host: 'c1' };
    const ports: Evacuator = {
      ...guests.evacuator,
      plan: (_openTrial, leavers) =>
        runInOneStep(
          leavers.flatMap(({ host, tenants }) =>
            tenants.map((tenant) => ({ host, tenant, evacuation: { kind: 'wait' as const, reason } })),
          ),
        ),
    };
    const host = findHost(world.fleet, 'c1') as StoredHost;
    const look = { fleet: world.fleet, item, host, by: 'ann', within: undefined, nowMs: world.nowMs };
    expect(drainStep({ ...look, evacuators: [ports] })[0]?.progress.reason).toEqual(reason);
  });

  test('without-a-drain-services-change-hands-and-guests-stay', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      ...on('c1', 'a'),
      posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
    );
    const { operation } = await world.commit(world.starting(['c1'], { drain: false }));
    await world.settle();
    expect(posts.on(world.fleet, 'c2')).toEqual(['nat']);
    expect(world.open()).toEqual([`${operation}.c1 empty waiting (left-to-operator)`]);
    await world.commit(() => accept([guests.put('a', { host: 'c2' })], null));
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
  });
});

describe('budgets', () => {
  const many = (host: string, count: number) =>
    on(host, ...Array.from({ length: count }, (_, nth) => `${host}-${nth}`));

  test.each([
    ['per-host', { movesPerHostAtOnce: 2, movesAtOnce: 100 }, 4],
    ['overall', { movesPerHostAtOnce: 100, movesAtOnce: 3 }, 3],
  ])('drain-respects-the-budget-%s', async (_name, budget, most) => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c9'), ...many('c1', 7), ...many('c2', 5));
    await world.budget(budget);
    world.driver.held = true;
    await started(world, 'c1', 'c2');
    for (let tick = 0; tick < 4; tick += 1) await world.tick();
    expect(world.fleet.countOf(DRAIN_MOVES, EVERY_MOVE)).toBe(most);
    expect(Math.max(movesOff(world.fleet, 'c1'), movesOff(world.fleet, 'c2'))).toBeLessThanOrEqual(
      budget.movesPerHostAtOnce,
    );
    world.driver.held = false;
    await world.settle();
    expect(world.states('c1', 'c2')).toBe('c1 drained, c2 drained');
    expect(world.violations).toEqual([]);
  });

  test('a-move-beyond-the-budget-waits-with-that-reason, and starts as soon as another move ends', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c9'), ...many('c1', 1), ...many('c2', 1));
    await world.budget({ movesAtOnce: 1 });
    world.driver.held = true;
    const operation = await started(world, 'c1', 'c2');
    for (let tick = 0; tick < 3; tick += 1) await world.tick();
    expect(world.item(operation, 'c1')).toMatchObject({ step: 'move', reason: { code: 'moves-under-way' } });
    expect(world.item(operation, 'c2')).toMatchObject({ step: 'move', reason: { code: 'budget' } });
    world.driver.held = false;
    await world.settle();
    expect(world.states('c1', 'c2')).toBe('c1 drained, c2 drained');
  });

  test('a-tenant-that-cannot-move-does-not-keep-the-others, however many come before them', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c9'),
      ...Array.from({ length: 60 }, (_, nth) => guests.put(`a${100 + nth}`, { host: 'c1', presence: ['c1'] })),
      ...on('c1', 'z1', 'z2'),
    );
    const operation = await started(world, 'c1');
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expect(world.driver.moved.toSorted()).toEqual(['z1', 'z2']);
    expect(world.item(operation, 'c1')?.reason).toMatchObject({ code: 'no-valid-host' });
  });

  test('a-failed-move-is-tried-again, and its siblings go on', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c9'), ...on('c1', 'a', 'b', 'c'));
    await world.budget({ movesPerHostAtOnce: 1 });
    world.driver.failures.set('a', 3);
    await started(world, 'c1');
    await world.settle();
    expect(world.driver.moved.toSorted()).toEqual(['a', 'b', 'c']);
    expect(world.states('c1')).toBe('c1 drained');
  });
});

describe('the deadline', () => {
  test('no-move-is-begun-after-it, the host stays draining and says why; a new start goes on', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1'), ...on('c1', 'a'));
    const { operation = '' } = await world.commit(world.starting(['c1'], { deadlineMs: 60_000 }));
    await world.settle();
    expect(world.item(operation, 'c1')).toMatchObject({ state: 'waiting', reason: { code: 'no-valid-host' } });
    world.clock.now += 120_000;
    await world.settle();
    expect(world.item(operation, 'c1')).toMatchObject({
      state: 'failed',
      reason: { code: 'deadline-passed', waitedFor: 'no-valid-host' },
    });
    expect(world.states('c1')).toBe('c1 draining');
    await world.commit(() => accept(activeHosts('c2'), null));
    await world.settle();
    expect(world.driver.moved).toEqual([]);
    const again = await world.commit(world.starting(['c1']));
    expect(again.hosts).toMatchObject([{ result: 'accepted', operation: again.operation }]);
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
    expect(world.host('c1')?.leaving?.operation).toBe(again.operation);
    expect(world.violations).toEqual([]);
  });

  test('what-is-under-way-ends-by-itself', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), ...on('c1', 'a'));
    world.driver.held = true;
    await world.commit(world.starting(['c1'], { deadlineMs: 60_000 }));
    await world.tick();
    world.clock.now += 120_000;
    await world.tick();
    world.driver.held = false;
    await world.settle();
    expect(guests.on(world.fleet, 'c2')).toEqual(['a']);
    expect(world.states('c1')).toBe('c1 drained');
  });
});

describe('a host that is down', () => {
  const forceDown = (world: ScaleInWorld, id: string) =>
    world.commit((fleet) => forceDownHost(fleet, { id, reason: 'burnt', by: 'ann', nowMs: world.nowMs }));
  const reconnect = (world: ScaleInWorld, host: string) =>
    world.commit((fleet) => recordTransitions(fleet, [{ host, from: 'down', to: 'up' }], world.nowMs));

  async function startForcedDown(): Promise<ScaleInWorld> {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), ...on('c1', 'a'));
    await world.connect('c1', 'down');
    const operation = await started(world, 'c1');
    await world.settle();
    expect(world.item(operation, 'c1')).toMatchObject({ state: 'waiting', reason: { code: 'host-down', host: 'c1' } });
    expect(world.driver.moved).toEqual([]);
    await forceDown(world, 'c1');
    await world.settle();
    return world;
  }

  test('waits-until-an-operator-forces-it-down, then is emptied', async () => {
    const world = await startForcedDown();
    expect(guests.on(world.fleet, 'c2')).toEqual(['a']);
    expect(world.states('c1')).toBe('c1 drained');
    expect(world.host('c1')?.leaving?.rebuilt).toBe(true);
    expect(world.host('c1')?.quarantined).toBeUndefined();
  });

  test('is-quarantined-when-it-reports-again', async () => {
    const world = await startForcedDown();
    await reconnect(world, 'c1');
    expect(world.host('c1')?.quarantined).toEqual({ because: 'operator-fenced', atMs: world.nowMs });
    expect(world.host('c1')?.connection.state).toBe('up');
  });

  test('is-quarantined-when-force-down-is-cleared-before-it-reports', async () => {
    const world = await startForcedDown();
    await world.commit((fleet) => clearForceDown(fleet, { id: 'c1', by: 'ann', nowMs: world.nowMs }));
    expect(world.host('c1')?.quarantined?.because).toBe('operator-fenced');
  });

  test('is-quarantined-at-once-when-it-reported-all-the-time', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), ...on('c1', 'a'));
    await forceDown(world, 'c1');
    await started(world, 'c1');
    await world.settle();
    expect(world.host('c1')?.quarantined?.because).toBe('operator-fenced');
  });

  test('is-not-quarantined-when-nothing-was-built-elsewhere', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'));
    await world.connect('c1', 'down');
    await forceDown(world, 'c1');
    await started(world, 'c1');
    await world.settle();
    await reconnect(world, 'c1');
    expect(world.host('c1')?.quarantined).toBeUndefined();
  });

  test('an-empty-one-is-drained-all-the-same', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'));
    await world.connect('c1', 'down');
    await started(world, 'c1');
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
  });
});

describe('a drained host', () => {
  test('is-draining-again-when-something-appears, by an operation of its own', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'));
    const first = await started(world, 'c1');
    await world.settle();
    await world.commit(() => accept(on('c1', 'late'), null));
    await world.tick();
    expect(world.states('c1')).toBe('c1 draining');
    const second = world.host('c1')?.leaving?.operation ?? '';
    expect(second).not.toBe(first);
    expect(world.fleet.get(OPERATION, idOf(OPERATION, second))?.doc).toMatchObject({ kind: 'scale-in', by: 'ann' });
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
    expect(guests.on(world.fleet, 'c2')).toEqual(['late']);
    expect(world.violations).toEqual([]);
  });

  test('stays-drained-while-a-service-has-no-other-host', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), posts.put('nat', { host: 'c1', presence: ['c1'] }));
    await started(world, 'c1');
    await world.settle();
    const { revision } = world.fleet;
    await world.settle();
    expect(world.fleet.revision).toBe(revision);
    expect(world.states('c1')).toBe('c1 drained');
  });
});

test('a-restart-between-any-two-ticks-changes-nothing-of-it', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c3'), ...on('c1', 'a', 'b', 'c', 'd', 'e', 'f'));
  await world.budget({ movesPerHostAtOnce: 2 });
  const operation = await started(world, 'c1', 'c2');
  for (let tick = 0; tick < 12; tick += 1) {
    await world.restart();
    await world.tick();
  }
  expect(world.states('c1', 'c2')).toBe('c1 drained, c2 drained');
  expect(world.operationState(operation)).toBe('succeeded');
  expect(world.violations).toEqual([]);
});

test('one-that-becomes-empty-after-its-deadline-is-drained-all-the-same', async () => {
  const world = await ScaleInWorld.of(...activeHosts('c1'), guests.put('g', { host: 'c1' }));
  const { operation } = await world.commit(world.starting(['c1'], { deadlineMs: 60_000 }));
  world.clock.now += 60_001;
  await world.settle();
  expect([world.operationState(operation), world.states('c1')]).toEqual(['failed', 'c1 draining']);
  await world.commit((fleet) => accept(guests.evacuator.abandon(fleet, 'c1', { by: 'ann', nowMs: world.nowMs }), null));
  await world.settle();
  expect(world.states('c1')).toBe('c1 drained');
  expect(world.violations).toEqual([]);
});

test('many-that-cannot-move-give-one-reason, and another once the first has moved', async () => {
  const names = Array.from({ length: 60 }, (_, nth) => `g-${String(nth).padStart(2, '0')}`);
  const world = await ScaleInWorld.of(...activeHosts('c1'), ...on('c1', ...names));
  const operation = await started(world, 'c1');
  await world.settle();
  const first = String(world.item(operation, 'c1')?.reason?.['instance']);
  expect(names).toContain(first);
  await world.commit(() => accept([guests.put(first, { host: 'c9' })], null));
  await world.settle();
  expect(world.item(operation, 'c1')?.reason).toMatchObject({ code: 'no-valid-host' });
  expect(world.item(operation, 'c1')?.reason?.['instance']).not.toBe(first);
});

test('what-a-handover-waits-for-is-what-its-host-waits-for', async () => {
  const world = await ScaleInWorld.of(
    ...activeHosts('c1', 'c2'),
    posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
  );
  world.driver.held = true;
  const operation = await started(world, 'c1');
  for (let tick = 0; tick < 4; tick += 1) await world.tick();
  expect(world.item(operation, 'c1')).toMatchObject({ step: 'handover', reason: { code: 'not-yet' } });
});

test.each(['service-not-ready', 'held-out-of-control', 'host-recovering'])(
  'a-service-that-waits-with-%s-keeps-neither-other-services-nor-guests, and is the reason in the end',
  async (code) => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      ...on('c1', 'a', 'b'),
      posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
      posts.put('dhcp', { host: 'c1', presence: ['c1', 'c2'] }),
    );
    world.driver.unready.set('nat', code);
    const operation = await started(world, 'c1');
    for (let tick = 0; tick < 12; tick += 1) await world.tick();
    expect(world.driver.moved.toSorted()).toEqual(['a', 'b', 'dhcp']);
    expect(world.states('c1')).toBe('c1 draining');
    expect(world.item(operation, 'c1')).toMatchObject({ reason: { code, service: 'nat' } });
    world.driver.unready.clear();
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
  },
);
