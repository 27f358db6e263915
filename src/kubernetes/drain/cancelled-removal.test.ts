// A removal that is cancelled while a Node is being deleted: whether that is left is known by looking alone.
import { expect, test } from 'vitest';
import type { CallFault } from '../cluster-api/simulated/memory-cluster.ts';
import { WorkersWorld } from '../workers-fixture.ts';

/** Whether the deletion has effect or not, no answer arrives. */
async function cancelDuringDeletion(fault: CallFault): Promise<WorkersWorld> {
  const world = await WorkersWorld.of(['a', 'b']);
  world.cluster.fault = (call) => (call === 'deleteNode' ? fault : undefined);
  const operation = await world.remove(['a']);
  for (let nth = 0; nth < 60 && world.item(operation, 'edge.a')?.reason?.code !== 'cluster-unreachable'; nth += 1)
    await world.tick();
  expect(world.item(operation, 'edge.a')).toMatchObject({ step: 'delete-node', state: 'waiting' });
  await world.cancel(operation);
  await world.ticks(10);
  expect(world.operationDoc(operation)?.state).toBe('cancelled');
  expect(world.violations).toEqual([]);
  return world;
}

test('a-node-that-was-deleted-is-not-given-back, and its worker can be removed by another request', async () => {
  const world = await cancelDuringDeletion('reply-lost');
  expect(world.cluster.look().readNode('a')).toBeUndefined();
  expect(world.worker('a')).toMatchObject({ state: 'removing', readiness: 'missing' });
  expect(world.worker('a')?.work).toBeUndefined();
  world.cluster.fault = () => undefined;
  expect(await world.runOperation(await world.remove(['a']))).toBe('succeeded');
  expect(world.worker('a')).toBeUndefined();
});

test('a-node-that-is-left-is-given-back', async () => {
  const world = await cancelDuringDeletion('unreachable');
  expect(world.worker('a')).toMatchObject({ state: 'in-service' });
  expect(world.worker('a')?.cordon).toBeUndefined();
  expect(world.isCordoned('a')).toBe(false);
});

test('a-removal-that-failed-at-the-deletion-can-be-retried', async () => {
  const world = await WorkersWorld.of(['a', 'b']);
  world.cluster.fault = (call) => (call === 'deleteNode' ? { status: 403 } : undefined);
  const operation = await world.remove(['a']);
  expect(await world.runOperation(operation)).toBe('failed');
  expect(world.worker('a')).toMatchObject({ state: 'removing' });
  world.cluster.fault = () => undefined;
  await world.retry(operation);
  expect(await world.runOperation(operation)).toBe('succeeded');
  expect(world.worker('a')).toBeUndefined();
  expect(world.violations).toEqual([]);
});
