// Moves on back ends outside the journal: the target is bound before anything leaves the source, so that no instance is migrated to a target that cannot
// be bound.
import { describe, expect, test } from 'vitest';
import type { InstancesWorld } from '../instances-fixture.ts';
import { HOUR_MS, move, startActive } from './moves-fixture.ts';

const BACK_ENDS = ['simulated', 'simulated-single'] as const;

function expectConnectedAt(world: InstancesWorld, host: string): void {
  expect(world.instance('web')).toMatchObject({ state: 'active', host });
  expect(world.ports('web')[0]?.binding?.host).toBe(host);
  expect(world.network.port('web-p0')?.binding).toMatchObject({ host, type: 'simulated' });
  expect(world.network.port('web-p0')?.binding?.serial).toBe(world.ports('web')[0]?.binding?.serial);
  expect(world.network.port('web-p0')?.inactive).toBeUndefined();
  expect(world.addresses('web')).toEqual(['10.0.0.2']);
  expect(world.machines.hostsRunning('web')).toEqual([host]);
  expect(world.claim('web', 'move')).toBeUndefined();
  expect(world.violations).toEqual([]);
}

function migrateTasks(world: InstancesWorld): readonly string[] {
  return world.machines.log.filter((line) => line.startsWith('migrate'));
}

test('two-bindings: inactive at the target, activated with the migration, the old one deleted last', async () => {
  const world = await startActive('simulated');
  const operation = await move(world);
  await world.runUntilStep(operation, 'web', 'migrate');
  expect(world.network.port('web-p0')).toMatchObject({ binding: { host: 'h2' }, inactive: { host: 'h4' } });
  await world.runUntilStep(operation, 'web', 'activate');
  expect(world.network.port('web-p0')).toMatchObject({ binding: { host: 'h4' }, inactive: { host: 'h2' } });
  await world.runUntilStep(operation, 'web', 'unbind-source');
  expect(world.machines.hostsRunning('web')).toEqual(['h4']);
  await world.settle();
  expectConnectedAt(world, 'h4');
});

test('one-binding: bound to the target when that is ready, before the source hands over', async () => {
  const world = await startActive('simulated-single');
  const operation = await move(world);
  await world.runUntilStep(operation, 'web', 'migrate');
  expect(world.network.port('web-p0')?.binding?.host).toBe('h4');
  expect(migrateTasks(world)).toEqual([]);
  await world.settle();
  expectConnectedAt(world, 'h4');
});

describe.each(BACK_ENDS)('a target that cannot be bound to, on %s', (backEnd) => {
  test.each(['binding-failed', 'mapping-gone', 'unavailable'] as const)(
    '%s: the instance stays until the next host is bound',
    async (outcome) => {
      const world = await startActive(backEnd);
      world.network.faults.arm({ op: 'bind', host: 'h4', outcome, times: 99 });
      const operation = await move(world);
      await world.settle();
      expect(world.operationDoc(operation)?.state).toBe('succeeded');
      expect(migrateTasks(world)).toEqual(['migrate web on h2']);
      expectConnectedAt(world, 'h5');
    },
  );

  test('wherever-it-is-tried: the instance stays connected where it is, and the item says why', async () => {
    const world = await startActive(backEnd);
    for (const host of ['h4', 'h5'])
      world.network.faults.arm({ op: 'bind', host, outcome: 'binding-failed', times: 99 });
    const operation = await move(world);
    await world.settle();
    expect(migrateTasks(world)).toEqual([]);
    expectConnectedAt(world, 'h2');
    expect(world.item(operation, 'web')?.state).toBe('failed');
    expect(world.instance('web')?.fault?.message).toContain('binding_failed');
    expect(world.open()).toEqual([]);
  });

  test('the-source-fails-to-handover: it is connected there, and the next host is tried', async () => {
    const world = await startActive(backEnd);
    world.machines.fail({ task: 'migrate', times: 1, fault: 'migration-failed' });
    await move(world);
    await world.settle();
    expectConnectedAt(world, 'h5');
  });

  test('the-answer-is-lost: the same order again', async () => {
    const world = await startActive(backEnd);
    for (const op of ['bind', 'activate', 'unbind'] as const)
      world.network.faults.arm({ op, outcome: 'applied-but-lost', times: 1 });
    await move(world);
    await world.settle();
    expectConnectedAt(world, 'h4');
  });

  test('a-second-move-back: nothing of the first is in its way', async () => {
    const world = await startActive(backEnd);
    await move(world, { target: 'h4' });
    await world.settle();
    await move(world, { target: 'h2', nowMs: world.nowMs, deadlineMs: HOUR_MS });
    await world.settle();
    expectConnectedAt(world, 'h2');
  });
});

describe('one binding: the way back to the source', () => {
  /** Bound at the target, and then the source fails to migrate. */
  async function failMigration(deadlineMs = HOUR_MS): Promise<{ world: InstancesWorld; operation: string }> {
    const world = await startActive('simulated-single');
    world.machines.fail({ task: 'migrate', times: 1, fault: 'migration-failed' });
    const operation = await move(world, { deadlineMs });
    await world.runUntilStep(operation, 'web', 'unbind-target');
    return { world, operation };
  }

  test('a-back-end-that-refuses-it: the instance is degraded, not connected', async () => {
    const { world } = await failMigration();
    for (const host of ['h2', 'h5'])
      world.network.faults.arm({ op: 'bind', host, outcome: 'binding-failed', times: 999 });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.port('web-p0')?.binding).toBeUndefined();
    expect(world.degraded('web')).toEqual(['web-p0: unbound']);
    expect(world.alarm('web')).toBeDefined();
  });

  test('a-back-end-that-does-not-answer-is-retried-for-as-long-as-it-takes: where the port is is unknown', async () => {
    const { world, operation } = await failMigration();
    world.network.faults.arm({ op: 'bind', host: 'h2', outcome: 'unavailable', times: 12 });
    for (let tick = 0; tick < 10; tick += 1) await world.tick();
    expect(world.item(operation, 'web')?.step).toBe('unbind-target');
    await world.settle();
    expectConnectedAt(world, 'h5');
  });

  test('the-deadline-passes-on-it: the instance is degraded until its port is bound there again', async () => {
    const { world, operation } = await failMigration(60_000);
    world.network.faults.arm({ op: 'bind', host: 'h2', outcome: 'unavailable', times: 999 });
    for (let tick = 0; tick < 15; tick += 1) await world.tick();
    expect(world.operationDoc(operation)?.state).toBe('failed');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.degraded('web')).toEqual(['web-p0: unbound']);
    world.network.faults.disarm();
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectConnectedAt(world, 'h2');
  });

  test('a-target-that-loses-its-mapping-while-it-is-bound-is-not-handed-the-instance', async () => {
    const world = await startActive('simulated-single');
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind-target');
    await world.edit('h4', { physicalNetworks: [] });
    await world.settle();
    expect(migrateTasks(world)).toEqual(['migrate web on h2']);
    expectConnectedAt(world, 'h5');
  });
});

describe('while-a-back-end-is-silent-the-reason-says-where-the-instance-is', () => {
  const reasonAt = (world: InstancesWorld, operation: string): object | undefined =>
    world.item(operation, 'web')?.reason;

  test('while the target is bound it runs at the source', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'bind', outcome: 'unavailable', times: 1 });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind-target');
    await world.pass();
    expect(reasonAt(world, operation)).toMatchObject({ code: 'target-not-bound', host: 'h4', from: 'h2' });
  });

  test('while the binding at the source is deleted it runs at the target', async () => {
    const world = await startActive('simulated');
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'activate');
    world.network.faults.arm({ op: 'unbind', outcome: 'unavailable', times: 1 });
    await world.runUntilStep(operation, 'web', 'unbind-source');
    await world.pass();
    expect(reasonAt(world, operation)).toMatchObject({ code: 'binding-left', host: 'h2', at: 'h4' });
    await world.settle();
    expectConnectedAt(world, 'h4');
  });

  test('while what a failed try left at its target is deleted it has not moved', async () => {
    const world = await startActive('simulated');
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'prepare');
    world.network.faults.arm({ op: 'unbind', outcome: 'unavailable', times: 1 });
    await world.edit('h4', { physicalNetworks: [] });
    await world.runUntilStep(operation, 'web', 'unbind-target');
    await world.pass();
    expect(reasonAt(world, operation)).toMatchObject({ code: 'binding-left', host: 'h4', at: 'h2' });
    await world.settle();
    expectConnectedAt(world, 'h5');
  });
});
