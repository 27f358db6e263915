// The end of instances on nodes: in every state, once, after what is under way, and with machines that are not cleaned.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { MACHINE, type Machine } from '../drivers/simulated/model.ts';
import { confirmNodeClean } from '../nodes/decide.ts';
import { fixtureN, NodesWorld } from './nodes-world-fixture.ts';

const DAY_MS = 24 * 3600 * 1000;

async function activeWorld(managers: readonly string[] = ['m1']): Promise<NodesWorld> {
  const world = await NodesWorld.of(fixtureN(['seg0']), managers);
  await world.create();
  await world.settle();
  return world;
}

function expectGone(world: NodesWorld): void {
  expect([world.instance('db'), world.reservation('db'), world.port('db-p0')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  const { state, instance, manager, dirty } = world.node('n1');
  expect({ state, instance, manager, dirty }).toEqual({
    ...{ state: 'available', instance: undefined, manager: undefined, dirty: undefined },
  });
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
}

describe('a deletion', () => {
  test('disconnects-and-cleans-the-machine, and-then-the-name-is-free', async () => {
    const world = await activeWorld();
    const operation = await world.delete('db');
    expect(world.instance('db')).toMatchObject({ state: 'deleting', node: 'n1' });
    await world.settle();
    expectGone(world);
    expect(world.calls().map(({ op }) => op)).toEqual(['connect', 'deploy', 'disconnect', 'clean']);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    await world.create();
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'active', node: 'n1' });
    expect(world.node('n1').epoch).toBe(2);
  });

  test('asked-for-twice-is-one-operation', async () => {
    const world = await activeWorld();
    const first = await world.delete('db');
    expect(await world.delete('db')).toBe(first);
    await world.settle();
    expectGone(world);
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'after %i ticks of a build: everything is gone, and the calls of the machine do not overlap',
    async (ticks) => {
      const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
      await world.set({ deployMs: 9000, cleanMs: 9000 });
      await world.create();
      for (let tick = 0; tick < ticks; tick += 1) await world.tick();
      const wasDeploying = world.machine('n1') === 'deploying';
      await world.delete('db');
      const whileDeploying: string[][] = [];
      while (world.machine('n1') === 'deploying') {
        whileDeploying.push(world.calls().map(({ op }) => op));
        await world.tick();
      }
      // The deletion waits for a deploy that has begun.
      if (wasDeploying) for (const ops of whileDeploying) expect(ops).toEqual(['connect', 'deploy']);
      await world.settle();
      expectGone(world);
      const ops = world.calls().map(({ op }) => op);
      // What has come to a machine is cleaned away.
      expect(ops.includes('clean')).toBe(ops.includes('deploy'));
    },
  );

  test('waits-for-a-manager, with-the-node-kept-out-of-service, and-is-done-when-one-comes', async () => {
    const world = await activeWorld();
    await world.lose('m1');
    const operation = await world.delete('db');
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'waiting', reason: { code: 'node-unmanaged' } });
    expect(world.node('n1')).toMatchObject({ state: 'cleaning', dirty: true });
    await world.register('m2');
    await world.settle();
    expectGone(world);
    expect(world.callsInWords().slice(-2)).toEqual(['disconnect n1 for db by m2', 'clean n1 for db by m2']);
  });

  test('is-remembered-for-as-long-as-no-manager-is-there', async () => {
    const world = await activeWorld();
    await world.lose('m1');
    const operation = await world.delete('db');
    await world.settle();
    world.clock.now += 100 * DAY_MS;
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('running');
    await world.register('m1');
    await world.settle();
    expectGone(world);
  });

  test.each(['cancelled', 'overdue'] as const)('of a build that was %s is remembered as long', async (how) => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.set({ deployMs: 9000, cleanMs: 0 });
    const operation = await world.create();
    while (world.machine('n1') !== 'deploying') await world.tick();
    await world.lose('m1');
    if (how === 'cancelled') await world.cancel(operation);
    else world.clock.now += DAY_MS;
    await world.settle();
    world.clock.now += 100 * DAY_MS;
    await world.settle();
    expect(world.node('n1')).toMatchObject({ instance: 'db' });
    await world.register('m1');
    await world.settle();
    expect(world.node('n1')).toMatchObject({ state: 'available' });
    expect(world.violations).toEqual([]);
  });

  test('waits-for-a-deploy-whose-manager-was-lost: the next one finds it, and nothing is deployed twice', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.set({ deployMs: 20_000, cleanMs: 0 });
    await world.create();
    while (!world.calls().some(({ op }) => op === 'deploy')) await world.tick();
    await world.lose('m1');
    await world.delete('db');
    await world.tick();
    expect(world.node('n1').state).toBe('deploying');
    await world.register('m2');
    while (world.machine('n1') === 'deploying') {
      expect(world.callsInWords()).toEqual(['connect n1 for db by m1', 'deploy n1 for db by m1']);
      await world.tick();
    }
    await world.settle();
    expectGone(world);
    expect(world.callsInWords()).toEqual([
      'connect n1 for db by m1',
      'deploy n1 for db by m1',
      'disconnect n1 for db by m2',
      'clean n1 for db by m2',
    ]);
  });

  test('of-a-machine-that-fails-to-be-cleaned-once: it is tried again', async () => {
    const world = await activeWorld();
    await world.arm({ op: 'clean', outcome: 'failed', times: 2 });
    await world.delete('db');
    await world.settle();
    expectGone(world);
    expect(world.alarms()).toEqual([]);
  });

  test('of-a-machine-that-is-never-clean: out of service with an alarm, the name is free, the node is not', async () => {
    const world = await activeWorld();
    await world.arm({ op: 'clean', outcome: 'failed', times: 99 });
    const operation = await world.delete('db');
    await world.settle();
    expect([world.instance('db'), world.reservation('db')]).toEqual([undefined, undefined]);
    expect(world.node('n1')).toMatchObject({
      state: 'clean-failed',
      dirty: true,
      fault: { code: 'node-clean-failed' },
    });
    expect(world.node('n1').instance).toBeUndefined();
    expect(world.alarms()).toEqual(['node-clean-failed: n1']);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
    await world.create();
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'error', fault: { code: 'no-match' } });
    await world.commit((fleet) => confirmNodeClean(fleet, { id: 'n1', by: 'ann', nowMs: world.nowMs }));
    expect([world.node('n1').state, world.alarms()]).toEqual(['available', []]);
  });

  test('of-a-machine-that-has-another-instance: it is left alone, out of service with an alarm, and the name is free', async () => {
    const world = await activeWorld();
    const theirs: Machine = { epoch: 9, state: 'deployed', power: 'on', instance: 'theirs', ports: [] };
    await world.put(put(MACHINE, idOf(MACHINE, 'n1'), theirs));
    const operation = await world.delete('db');
    await world.settle();
    expect([world.instance('db'), world.reservation('db'), world.open()]).toEqual([undefined, undefined, []]);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.node('n1')).toMatchObject({ state: 'clean-failed', dirty: true });
    expect(world.node('n1').instance).toBeUndefined();
    expect(world.alarms()).toEqual(['node-clean-failed: n1']);
    expect(world.calls().slice(2)).toMatchObject([
      { op: 'disconnect', result: 'stale' },
      { op: 'clean', result: 'stale' },
    ]);
    expect(world.machine('n1')).toBe('deployed');
    expect(world.violations).toEqual([]);
  });

  test('of-one-in-error-that-holds-nothing', async () => {
    const world = await NodesWorld.of(fixtureN([]), ['m1']);
    await world.create();
    await world.settle();
    expect(world.instance('db')?.state).toBe('error');
    await world.delete('db');
    await world.settle();
    expect([world.instance('db'), world.reservation('db'), world.open()]).toEqual([undefined, undefined, []]);
  });

  test('two-at-once-do-not-wait-for-each-other', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']), ['m1']);
    await world.create({ name: 'a', count: 2 });
    await world.settle();
    await world.delete('a-1');
    await world.delete('a-2');
    await world.settle();
    expect([world.instance('a-1'), world.instance('a-2'), world.open()]).toEqual([undefined, undefined, []]);
  });
});
