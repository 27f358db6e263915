// Designations as tenants of a host: the inventory, the target of each, and that drain and election agree whichever begins.
import { describe, expect, test } from 'vitest';
import { idOf, runTrial, put, type Change, type FleetReader } from '../fleet/index.ts';
import { beginEvacuation, HOST, planEvacuation, type PlannedEvacuation } from '../hosts/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { OPERATION } from '../operations/index.ts';
import { designationEvacuator as evacuator } from './evacuator.ts';
import { SERVICE } from './model.ts';
import { fitHost, LEAVING, portOn, routed, service, ElectionWorld } from './election-fixture.ts';

const SUBNETS = ['s1', 's2', 's3'];

/** Four services at a; b, x and y have presence, too. */
async function served(): Promise<ElectionWorld> {
  const world = await ElectionWorld.of(
    fitHost('a'),
    routed('r1', SUBNETS),
    SUBNETS.map((one) => portOn('a', one)),
  );
  await world.settle();
  await world.put(
    ...['b', 'x', 'y'].map((name) => fitHost(name)),
    ...['b', 'x', 'y'].flatMap((name) => SUBNETS.map((one) => portOn(name, one))),
  );
  await world.settle();
  return world;
}

const leavers = (fleet: FleetReader, hosts: readonly string[]) =>
  hosts.map((host) => ({ host, tenants: evacuator.inventory(fleet, host) }));

const plan = (world: ElectionWorld, ...hosts: string[]): readonly PlannedEvacuation[] =>
  runTrial(world.fleet, (trial) => {
    trial.add(hosts.map((name) => fitHost(name, LEAVING)));
    return planEvacuation(trial, evacuator, leavers(trial, hosts), world);
  });

const begin =
  (world: ElectionWorld, ...hosts: string[]) =>
  (fleet: FleetReader): Decision<readonly string[]> => {
    const planned = planEvacuation(fleet, evacuator, leavers(fleet, hosts), world);
    const started = beginEvacuation(fleet, evacuator, planned, world.commandContext());
    if ('code' in started) throw new Error(started.code);
    const operations = started.changes.filter(({ kind }) => kind === OPERATION.name);
    return accept(
      started.changes,
      operations.map(({ id }) => id),
    );
  };

const shown = (planned: readonly PlannedEvacuation[]): string[] =>
  planned.map(({ tenant, evacuation }) =>
    evacuation.kind === 'wait'
      ? `${tenant.id} ${evacuation.reason.code}`
      : `${tenant.id} ${evacuation.kind}${'to' in evacuation ? ` ${evacuation.to}` : ''}`,
  );

test('the-inventory-has-what-is-done-there-and-what-is-on-its-way-there-and-off', async () => {
  const world = await served();
  const ids = (host: string): string[] => evacuator.inventory(world.fleet, host).map(({ id }) => id);
  expect(ids('a')).toEqual(['nat:r1', 'subnet-route:s1', 'subnet-route:s2', 'subnet-route:s3']);
  expect(ids('x')).toEqual([]);
  world.views.behind.add('b');
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  await world.pass();
  expect(ids('a')).toHaveLength(4);
  expect(ids('x')).toEqual(['subnet-route:s1']);
  expect(evacuator.countLeaving(world.fleet, 'a')).toBe(4);
  expect([...(evacuator.listRemainingTenants?.(world.fleet, 'a') ?? [])]).toEqual([]);
});

test('a-plan-is-what-elections-then-do', async () => {
  const world = await served();
  const planned = plan(world, 'a', 'b');
  expect(shown(planned)).toEqual([
    'nat:r1 move x',
    'subnet-route:s1 move y',
    'subnet-route:s2 move x',
    'subnet-route:s3 move y',
  ]);
  await world.put(fitHost('a', LEAVING), fitHost('b', LEAVING));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 y, subnet-route:s2 x, subnet-route:s3 y');
});

test('whoever-comes-second-finds-nothing-to-begin', async () => {
  const world = await served();
  await world.put(fitHost('a', LEAVING));
  const [operation] = await world.commit(begin(world, 'a'));
  expect(operation).toMatch(/\.hand-overs$/);
  expect(await world.commit(begin(world, 'a'))).toEqual([]);
  await world.reconcile();
  await world.settle();
  expect(world.operations()).toHaveLength(1);
  expect(evacuator.inventory(world.fleet, 'a')).toEqual([]);
  expect(evacuator.countLeaving(world.fleet, 'a')).toBe(0);
  expect(world.wrong()).toEqual([]);
});

test('elections-that-come-first-leave-the-evacuator-nothing', async () => {
  const world = await served();
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  expect(await world.commit(begin(world, 'a'))).toEqual([]);
  expect(shown(planEvacuation(world.fleet, evacuator, leavers(world.fleet, ['a']), { nowMs: 0 }))).toEqual(
    ['nat:r1', 'subnet-route:s1', 'subnet-route:s2', 'subnet-route:s3'].map((id) => `${id} handover-under-way`),
  );
});

test('a-standby-is-chosen-by-elections-alone: drains have no BFD reports', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  await world.put(fitHost('b'), portOn('b', 's1'));
  await world.setting({ handoversAtOnce: 1 });
  world.views.behind.add('b');
  await world.loseBfd('b');
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  const { revision } = world.fleet;
  expect(world.shown()).toBe('nat:r1 a (a to b, preparing), subnet-route:s1 a');
  expect(shown(planEvacuation(world.fleet, evacuator, leavers(world.fleet, ['a']), { nowMs: 0 }))).toContain(
    'subnet-route:s1 move b',
  );
  // A service that waits for the budget is written by neither.
  await world.commit(begin(world, 'a'));
  await world.reconcile();
  expect(world.fleet.revision).toBe(revision);
  expect(service(world.fleet, 'subnet-route:s1')?.standby).toBeUndefined();
});

describe('without another candidate', () => {
  async function alone(): Promise<ElectionWorld> {
    const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
    await world.settle();
    return world;
  }

  test('what-has-no-presence-elsewhere-ends-with-the-host', async () => {
    expect(shown(plan(await alone(), 'a'))).toEqual(['nat:r1 ends', 'subnet-route:s1 ends']);
  });

  test('what-no-other-host-can-take-now-waits', async () => {
    const world = await alone();
    await world.put(fitHost('b', { serviceVersion: 1 }), portOn('b', 's1'));
    expect(shown(plan(world, 'a'))).toEqual(['nat:r1 no-candidate', 'subnet-route:s1 no-candidate']);
  });

  test('what-is-excluded-by-rule-ends', async () => {
    const world = await alone();
    await world.say('nat:r1', { exclusion: 'hard' });
    await world.put(fitHost('b', { serviceVersion: 1 }), portOn('b', 's1'));
    expect(shown(plan(world, 'a'))).toEqual(['nat:r1 ends', 'subnet-route:s1 no-candidate']);
  });
});

test('a-silent-leaver-s-services-are-elected-at-once-and-those-held-on-to-wait', async () => {
  const world = await served();
  await world.say('nat:r1', { onControlLoss: 'hold' });
  world.bfdUp.add('a');
  await world.put(fitHost('a', { ...LEAVING, connection: { state: 'down', sinceMs: 0 } }));
  const planned = planEvacuation(world.fleet, evacuator, leavers(world.fleet, ['a']), { nowMs: 0 });
  expect(shown(planned).slice(0, 2)).toEqual(['nat:r1 held-while-bfd-up', 'subnet-route:s1 move x']);
  await world.commit(begin(world, 'a'));
  expect(world.operations()).toEqual([]);
  expect(service(world.fleet, 'subnet-route:s1')?.designated?.host).toBe('x');
  expect(service(world.fleet, 'nat:r1')?.designated?.host).toBe('a');
});

test('held-elections-hold-an-evacuation', async () => {
  const world = await served();
  await world.setting({ held: true });
  expect(shown(plan(world, 'a'))[0]).toBe('nat:r1 elections-held');
});

test('what-is-abandoned-is-withdrawn-with-its-host-and-nothing-names-it-any-more', async () => {
  const world = await served();
  world.views.behind.add('x');
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  await world.pass();
  const remove = (name: string) => async (): Promise<void> => {
    await world.commit((fleet) => {
      const changes: Change[] = [...evacuator.abandon(fleet, name, { by: 'test', nowMs: 1 })];
      const doc = fitHost(name, { state: 'removed', connection: { state: 'down', sinceMs: 0 } }).doc;
      return accept([...changes, put(HOST, idOf(HOST, name), doc as never)], null);
    });
  };
  const steps = world.violations.length;
  await remove('x')();
  await remove('a')();
  expect(evacuator.inventory(world.fleet, 'a')).toEqual([]);
  expect(evacuator.inventory(world.fleet, 'x')).toEqual([]);
  const own = world.violations.slice(steps).filter((one) => !one.includes('table does not have'));
  expect(own).toEqual([]);
  world.views.behind.clear();
  await world.settle();
  for (const id of ['nat:r1', 'subnet-route:s1']) expect(service(world.fleet, id)?.designated?.host).toMatch(/^[by]$/);
});

test('a-change-of-a-service-touches-every-host-it-names', async () => {
  const world = await served();
  const before = world.fleet.get({ name: 'service', check: () => undefined }, 'nat:r1' as never);
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  const after = world.fleet.get({ name: 'service', check: () => undefined }, 'nat:r1' as never);
  expect(evacuator.hostsAffectedBy?.({ kind: 'service', before, after }, world.fleet)).toEqual(['a', 'b']);
  expect(evacuator.hostsAffectedBy?.({ kind: 'host', before, after }, world.fleet)).toEqual([]);
});

test('never: a drain that can begin nothing yet chooses a standby that the election has just dropped', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  await world.put(fitHost('x'), portOn('x', 's1'));
  await world.setting({ handoversAtOnce: 1 });
  await world.settle();
  world.views.behind.add('x');
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  expect(world.shown()).toContain('nat:r1 a (a to x, preparing)');
  // As the election leaves it when the peers report x down.
  const { standby, ...doc } = service(world.fleet, 'subnet-route:s1')!;
  expect(standby).toBe('x');
  await world.put(put(SERVICE, idOf(SERVICE, 'subnet-route:s1'), doc));
  expect(begin(world, 'a')(world.fleet)).toMatchObject({ changes: [] });
});
