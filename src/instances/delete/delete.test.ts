// Repeated deletions: a repeated request answers the open operation, if that covers all of the request.
import { expect, test } from 'vitest';
import { retryOperation, type OperationId } from '../../operations/index.ts';
import { deleteInstances } from './request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { HOUR_MS } from '../move/moves-fixture.ts';
import { KINDS } from '../reference-fixture.ts';

const deleteNamed = (world: InstancesWorld, ...ids: readonly string[]): Promise<{ readonly operation: string }> => {
  const command = { ids, operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  return world.commit((fleet) => deleteInstances(fleet, command));
};

async function startTwo(): Promise<InstancesWorld> {
  const world = await InstancesWorld.of();
  for (const name of ['one', 'two']) await world.create({ name });
  await world.settle();
  // Its host is silent: a deletion stays open.
  await world.disconnectHost('h2');
  return world;
}

test('repeated: the answer is the operation that does it, and nothing is committed', async () => {
  const world = await startTwo();
  const { operation } = await deleteNamed(world, 'one');
  await world.settle();
  const { revision } = world.fleet;
  expect(await deleteNamed(world, 'one')).toEqual({ operation });
  expect(world.fleet.revision).toBe(revision);
  await world.reconnectHost('h2');
  await world.settle();
  expect([world.instance('one'), world.instance('two')?.state]).toEqual([undefined, 'active']);
});

test('of-more-than-is-being-deleted: a new operation that deletes all of it', async () => {
  const world = await startTwo();
  const { operation } = await deleteNamed(world, 'one');
  expect((await deleteNamed(world, 'one', 'two')).operation).not.toBe(operation);
  await world.reconnectHost('h2');
  await world.settle();
  expect([world.instance('one'), world.instance('two'), world.open()]).toEqual([undefined, undefined, []]);
});

test('retried: the host is asked under a task id that no earlier try had', async () => {
  const world = await startTwo();
  await world.reconnectHost('h2');
  const retried = async (id: OperationId): Promise<void> => {
    world.clock.now += HOUR_MS + 1;
    await world.settle();
    expect(world.operationDoc(id)?.state).toBe('failed');
    await world.commit((fleet) => retryOperation(fleet, { id, kinds: KINDS, nowMs: world.nowMs }));
  };
  world.machines.fail({ task: 'destroy', instance: 'one', times: 2 });
  const { operation } = (await deleteNamed(world, 'one')) as { operation: OperationId };
  await world.tick();
  await world.tick();
  await world.disconnectHost('h2');
  await retried(operation);
  await world.tick();
  await world.tick();
  await world.reconnectHost('h2');
  await world.settle();
  const destroys = world.machines.taskIds.filter((id) => id.startsWith(`${operation}.one:destroy`));
  expect(destroys.length).toBeGreaterThan(1);
  expect(new Set(destroys).size).toBe(destroys.length);
  expect([world.instance('one'), world.open()]).toEqual([undefined, []]);
});
