// What an evacuation of a host would do now for each instance there, and that it does just that.
import { describe, expect, test } from 'vitest';
import { idOf, mergeChanges, runTrial, put, type FleetReader } from '../../fleet/index.ts';
import { beginEvacuation, planEvacuation, type PlannedEvacuation } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { OPERATION, retryOperation, type Operation } from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { GROUP } from '../model.ts';
import { moveInstances } from '../move/move.ts';
import { flavor, fixtureF, hostF, INSTANCE_EVACUATOR, KINDS } from '../reference-fixture.ts';

const HOUR_MS = 3_600_000;

function planEvacuations(fleet: FleetReader, hosts: readonly string[], nowMs: number): readonly PlannedEvacuation[] {
  const leavers = hosts.map((host) => ({ host, tenants: INSTANCE_EVACUATOR.inventory(fleet, host) }));
  return planEvacuation(fleet, INSTANCE_EVACUATOR, leavers, { nowMs });
}

/** A line for each tenant of these hosts. */
function tenants({ fleet, nowMs }: InstancesWorld, ...hosts: string[]): string[] {
  return planEvacuations(fleet, hosts, nowMs).map((one) => {
    const { evacuation } = one;
    const to = 'to' in evacuation ? ` to ${evacuation.to}` : '';
    const what = evacuation.kind === 'wait' ? `wait for ${evacuation.reason.code}` : `${evacuation.kind}${to}`;
    return `${one.tenant.kind} ${one.tenant.id}: ${what}`;
  });
}

function reasons({ fleet, nowMs }: InstancesWorld, host: string): unknown[] {
  return planEvacuations(fleet, [host], nowMs).map(({ evacuation }) => 'reason' in evacuation && evacuation.reason);
}

async function startTwo(): Promise<InstancesWorld> {
  const world = await InstancesWorld.of();
  await world.create({ count: 2 });
  await world.settle();
  return world;
}

/** Starts them; answers the operations that move instances, besides the sweeps that a rebuild begins. */
async function evacuate(world: InstancesWorld, host: string): Promise<readonly string[]> {
  const how = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  return world.commit((fleet) => {
    const started = beginEvacuation(fleet, INSTANCE_EVACUATOR, planEvacuations(fleet, [host], world.nowMs), how);
    if ('code' in started) return { kind: 'refuse', refusal: started };
    const moving = started.changes.filter(
      ({ kind, doc }) => kind === OPERATION.name && (doc as Operation).kind !== 'instance-clean',
    );
    return accept(
      started.changes,
      moving.map(({ id }) => id),
    );
  });
}

describe('an evacuation plans', () => {
  test('live-moves-from-a-host-that-is-up', async () => {
    const world = await startTwo();
    expect(tenants(world, 'h2')).toEqual(['instance web-1: move to h4', 'instance web-2: move to h4']);
    expect(tenants(world, 'h1')).toEqual([]);
  });

  test('nothing-for-a-host-that-is-only-down', async () => {
    const world = await startTwo();
    await world.disconnectHost('h2');
    expect(tenants(world, 'h2')).toEqual([
      'instance web-1: wait for host-silent',
      'instance web-2: wait for host-silent',
    ]);
  });

  test('rebuilds-from-a-host-that-is-forced-down', async () => {
    const world = await startTwo();
    await world.disconnectHost('h2');
    await world.forceDown('h2');
    expect(tenants(world, 'h2')).toEqual(['instance web-1: rebuild to h4', 'instance web-2: rebuild to h4']);
  });

  test('what-one-would-take-the-next-does-not-find', async () => {
    const large = flavor('small', { memoryMiB: 60 * 1024 });
    const world = await InstancesWorld.of(
      mergeChanges([...fixtureF(), large, hostF('h2', 900, 'seg0'), hostF('h4', 100, 'seg0'), hostF('h5', 70, 'seg0')]),
    );
    await world.create({ count: 3 });
    await world.settle();
    expect(tenants(world, 'h2')).toEqual([
      'instance web-1: move to h4',
      'instance web-2: move to h5',
      'instance web-3: wait for no-valid-host',
    ]);
  });

  test('scans-no-host-for-a-reason, and names the command that does', async () => {
    const world = await InstancesWorld.of(mergeChanges([...fixtureF(), flavor('small', { memoryMiB: 300 * 1024 })]));
    await world.create();
    await world.settle();
    const { fleet, nowMs } = world;
    const [web] = planEvacuations(fleet, ['h2'], nowMs);
    const message = expect.stringContaining('"muster hosts tenants h2" says what the hosts lack') as string;
    expect(web?.evacuation).toEqual({ kind: 'wait', reason: { code: 'no-valid-host', instance: 'web', message } });
  });

  test.each([
    ['forced down', true],
    ['up', false],
  ])(
    'one-that-stays-still-counts-in-the-group-of-those-after-it: an affinity group on a host that is %s',
    async (_how, dead) => {
      const world = await InstancesWorld.of();
      const group = { name: 'kin', project: 'default', policy: 'affinity' as const, changedBy: 'x', changedAtMs: 0 };
      await world.commit(() => accept([put(GROUP, idOf(GROUP, 'kin'), group)], null));
      await world.create({ count: 3, place: { group: 'kin' } });
      await world.settle();
      if (dead) await world.forceDown('h2');
      // Each is held by the two others. The last one is not free to move because those before it were tried.
      expect(tenants(world, 'h2')).toEqual([
        'instance web-1: wait for held-together',
        'instance web-2: wait for held-together',
        'instance web-3: wait for held-together',
      ]);
    },
  );

  test('waits-for-open-operations, and for arriving instances', async () => {
    const world = await startTwo();
    const by = { by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    const move = { ids: ['web-1'], kind: 'live' as const, operation: world.operation(), ...by };
    await world.commit((fleet) => moveInstances(fleet, move));
    await world.runUntilStep(move.operation, 'web-1', 'prepare');
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web-2'], operation: world.operation(), ...by }));
    expect(tenants(world, 'h2')).toEqual([
      'instance web-1: wait for other-work-ends-first',
      'instance web-2: wait for other-work-ends-first',
    ]);
    expect(tenants(world, 'h4')).toEqual(['instance web-1: wait for other-work-ends-first']);
  });

  test('says-of-work-that-failed-in-the-middle-that-nothing-continues-it, and what does', async () => {
    const world = await startTwo();
    const by = { by: 'ann', nowMs: world.nowMs };
    const move = { ids: ['web-1'], kind: 'live' as const, operation: world.operation(), ...by, deadlineMs: 60_000 };
    await world.commit((fleet) => moveInstances(fleet, move));
    await world.runUntilStep(move.operation, 'web-1', 'migrate');
    await world.disconnectHost('h2');
    const deletion = { ids: ['web-2'], operation: world.operation(), ...by, deadlineMs: 60_000 };
    await world.commit((fleet) => deleteInstances(fleet, deletion));
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expect([world.instance('web-1')?.state, world.instance('web-2')?.state]).toEqual(['moving', 'deleting']);
    expect(reasons(world, 'h2')).toEqual([
      { code: 'left-unfinished', instance: 'web-1', state: 'moving', operation: move.operation },
      { code: 'left-unfinished', instance: 'web-2', state: 'deleting' },
    ]);
    await world.reconnectHost('h2');
    const again = { ...deletion, operation: world.operation(), nowMs: world.nowMs };
    await world.commit((fleet) => deleteInstances(fleet, again));
    await world.commit((fleet) => retryOperation(fleet, { id: move.operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(tenants(world, 'h2')).toEqual([]);
  });

  test('changes-nothing-by-planning', async () => {
    const world = await startTwo();
    const before = JSON.stringify([world.claim('web-1'), world.claim('web-2')]);
    tenants(world, 'h2');
    expect(JSON.stringify([world.claim('web-1'), world.claim('web-2')])).toBe(before);
    // The trial is undone in the figures as well: the same plan results again.
    expect(tenants(world, 'h2')).toEqual(runTrial(world.fleet, () => tenants(world, 'h2')));
  });
});

describe('an evacuation begins', () => {
  test('moves', async () => {
    const world = await startTwo();
    const operations = await evacuate(world, 'h2');
    await world.settle();
    expect(operations.map((id) => world.operationDoc(id)?.state)).toEqual(['succeeded']);
    expect(tenants(world, 'h2')).toEqual([]);
    expect(tenants(world, 'h4')).toHaveLength(2);
    expect(world.violations).toEqual([]);
  });

  test('rebuilds', async () => {
    const world = await startTwo();
    await world.disconnectHost('h2');
    await world.forceDown('h2');
    const operations = await evacuate(world, 'h2');
    await world.settle();
    expect(operations.map((id) => world.operationDoc(id)?.kind)).toEqual(['instance-rebuild']);
    expect(tenants(world, 'h2')).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('nothing-when-all-wait', async () => {
    const world = await startTwo();
    await world.disconnectHost('h2');
    expect(await evacuate(world, 'h2')).toEqual([]);
  });
});
