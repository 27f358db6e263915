// The task of a shelve in each state of its item: what the host is ordered to do, and what an answer means that comes late, twice, or
// after the instance or the host is gone.
import { describe, expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import {
  ITEM,
  recordStep,
  taskId,
  type OperationId,
  type StoredItem,
  type TaskAnswer,
} from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { HOUR_MS, startActive } from '../move/moves-fixture.ts';
import { shelveInstance } from './shelve.ts';
import { instanceShelve } from './shelve-operation.ts';

async function startShelve(world: InstancesWorld): Promise<OperationId> {
  const command = { id: 'web', by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS, hasCredentials: true };
  const operation = world.operation();
  await world.commit((fleet) => shelveInstance(fleet, { ...command, operation }));
  return operation;
}

function itemOf({ fleet }: InstancesWorld, operation: OperationId): StoredItem {
  const item = fleet.get(ITEM, idOf(ITEM, `${operation}.web`));
  if (item === undefined) throw new Error(`no item of ${operation}`);
  return item;
}

const taskOf = (world: InstancesWorld, operation: OperationId) =>
  instanceShelve.task?.(itemOf(world, operation), { fleet: world.fleet })?.kind;

/** Records an answer as if the item still waited for it. */
async function answer(world: InstancesWorld, item: StoredItem, outcome: TaskAnswer['outcome']): Promise<unknown> {
  const said: TaskAnswer = { task: taskId(item), outcome };
  return world.commit((fleet) => {
    const step = instanceShelve.handleTaskAnswer?.(item, said, { fleet, nowMs: world.nowMs });
    return step === undefined ? accept([], 'none') : recordStep(fleet, step, world.nowMs);
  });
}

/** The plan of this moment, committed. */
async function commitPlan(world: InstancesWorld, operation: OperationId): Promise<void> {
  for (const next of instanceShelve.plan(world.fleet, [itemOf(world, operation)], world.nowMs)) {
    if (next.kind === 'act') throw new Error('nothing outside the journal is concerned');
    const steps = next.kind === 'decide' ? next.decide(world.fleet, world.nowMs) : [next];
    for (const step of steps) await world.commit((fleet) => recordStep(fleet, step, world.nowMs));
  }
}

async function deleteWeb(world: InstancesWorld): Promise<void> {
  const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => deleteInstances(fleet, command));
}

async function disconnectForGood(world: InstancesWorld): Promise<void> {
  await world.disconnectHost('h2');
  await world.forceDown('h2');
}

describe('the task of a shelve', () => {
  test('is-there-while-the-item-is-running, and-not-while-it-waits-to-ask-again', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    expect(taskOf(world, operation)).toBe('destroy');
    await answer(world, itemOf(world, operation), 'failed');
    expect(itemOf(world, operation).doc).toMatchObject({ state: 'waiting', reason: { code: 'not-destroyed' } });
    expect(taskOf(world, operation)).toBeUndefined();
    // Not before its time.
    await commitPlan(world, operation);
    expect(taskOf(world, operation)).toBeUndefined();
    world.clock.now += 2000;
    await commitPlan(world, operation);
    expect(taskOf(world, operation)).toBe('destroy');
  });

  test('has-another-id-each-time-it-is-asked: an answer to an earlier one does not count for it', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    const ids = [taskId(itemOf(world, operation))];
    for (const waitMs of [2000, 4000, 8000]) {
      await answer(world, itemOf(world, operation), 'failed');
      world.clock.now += waitMs;
      await commitPlan(world, operation);
      ids.push(taskId(itemOf(world, operation)));
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('is-asked-less-and-less-often', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    const waits: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      await answer(world, itemOf(world, operation), 'failed');
      const { retryAtMs = 0 } = itemOf(world, operation).doc;
      waits.push(retryAtMs - world.nowMs);
      world.clock.now = retryAtMs;
      await commitPlan(world, operation);
    }
    expect(waits).toEqual([2000, 4000, 8000]);
  });

  test('is-not-there-once-the-copy-is-destroyed and the ports are being unbound', async () => {
    const world = await startActive('simulated');
    const operation = await startShelve(world);
    await world.runUntilStep(operation, 'web', 'unbind');
    expect(itemOf(world, operation).doc).toMatchObject({ state: 'running' });
    expect(taskOf(world, operation)).toBeUndefined();
  });

  test('is-not-there-once-the-instance-is-being-deleted', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    await deleteWeb(world);
    expect(itemOf(world, operation).doc).toMatchObject({ state: 'running', step: 'destroy' });
    expect(taskOf(world, operation)).toBeUndefined();
  });
});

describe('an answer to the task of a shelve', () => {
  test('that-comes-twice: the second one changes nothing', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    const pendingItem = itemOf(world, operation);
    await answer(world, pendingItem, 'done');
    expect(world.instance('web')?.state).toBe('shelved');
    const { revision } = world.fleet;
    expect(await answer(world, pendingItem, 'done')).toBe('stale');
    expect(world.fleet.revision).toBe(revision);
  });

  test.each(['done', 'failed'] as const)('%s, after-a-delete: the instance stays deleting', async (outcome) => {
    const world = await startActive();
    const operation = await startShelve(world);
    await deleteWeb(world);
    await answer(world, itemOf(world, operation), outcome);
    expect(world.instance('web')?.state).toBe('deleting');
    expect(world.claim('web')).toMatchObject({ host: 'h2' });
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'instance-deleted' } });
    expect([world.instance('web'), world.claim('web'), world.open()]).toEqual([undefined, undefined, []]);
    expect(world.violations).toEqual([]);
  });

  test('after-the-instance-is-gone: the operation ends and says so', async () => {
    const world = await startActive('simulated');
    const operation = await startShelve(world);
    const item = itemOf(world, operation);
    await deleteWeb(world);
    await world.settle();
    const late: TaskAnswer = { task: taskId(item), outcome: 'done' };
    const step = instanceShelve.handleTaskAnswer?.(item, late, { fleet: world.fleet, nowMs: world.nowMs });
    expect(step).toMatchObject({ progress: { state: 'failed', reason: { code: 'instance-gone' } }, changes: [] });
  });

  test('while-its-host-is-silent: it counts, for it comes from the host itself', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    const pendingItem = itemOf(world, operation);
    await world.disconnectHost('h2');
    expect(await answer(world, pendingItem, 'done')).toBe('recorded');
    expect(world.instance('web')?.state).toBe('shelved');
    expect(world.violations).toEqual([]);
  });
});

describe('the host of a shelve', () => {
  test('is-forced-down-while-it-is-asked: shelved at once, and swept when it is back', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    expect(taskOf(world, operation)).toBe('destroy');
    await disconnectForGood(world);
    await commitPlan(world, operation);
    expect(world.instance('web')?.state).toBe('shelved');
    expect(world.claim('web')).toBeUndefined();
    expect(world.open()).toEqual([expect.stringContaining('copy destroy running')]);
    await world.reconnectHost('h2');
    await world.settle();
    expect([world.machines.hostsWith('web'), world.open(), world.violations]).toEqual([[], [], []]);
  });

  test('is-forced-down-while-it-waits-to-be-asked-again: it is not waited for', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    await answer(world, itemOf(world, operation), 'failed');
    await disconnectForGood(world);
    await commitPlan(world, operation);
    expect(world.instance('web')?.state).toBe('shelved');
  });

  test('is-back-after-it-was-silent: asked at once, under another task id', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    const first = taskId(itemOf(world, operation));
    await world.disconnectHost('h2');
    await commitPlan(world, operation);
    expect(itemOf(world, operation).doc).toMatchObject({ state: 'waiting', reason: { code: 'host-silent' } });
    expect(taskOf(world, operation)).toBeUndefined();
    await world.reconnectHost('h2');
    await commitPlan(world, operation);
    expect(taskOf(world, operation)).toBe('destroy');
    expect(taskId(itemOf(world, operation))).not.toBe(first);
  });

  test('is-forced-down-after-a-delete: the deletion sweeps it, the shelve changes nothing', async () => {
    const world = await startActive();
    const operation = await startShelve(world);
    await disconnectForGood(world);
    await deleteWeb(world);
    await commitPlan(world, operation);
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'instance-deleted' } });
    expect(world.instance('web')?.state).toBe('deleting');
    await world.settle();
    expect(world.instance('web')).toBeUndefined();
    await world.reconnectHost('h2');
    await world.settle();
    expect([world.machines.hostsWith('web'), world.open(), world.violations]).toEqual([[], [], []]);
  });
});
