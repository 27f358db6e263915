// Marks that an operator made before a drain, and takes back while it lasts.
import { expect, test } from 'vitest';
import { workload, WorkersWorld } from '../workers-fixture.ts';

test('a-cordon-that-its-operator-took-back-is-ours-when-the-drain-makes-it-again, and goes with ours', async () => {
  const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
  const marks = { isUnschedulable: true, isExcludedFromLoadBalancers: true };
  const operator = (isSet: boolean) =>
    world.cluster
      .look()
      .markNode({ name: 'a', uid: 'uid-a' }, { isUnschedulable: isSet, isExcludedFromLoadBalancers: isSet });
  operator(true);
  const operation = await world.drain(['a']);
  await world.ticks(3);
  expect(world.worker('a')?.cordon).toMatchObject({ wasUnschedulable: true, wasExcluded: true });
  operator(false);
  expect(await world.runOperation(operation)).toBe('failed');
  await world.retry(operation);
  await world.ticks(10);
  expect(world.cluster.look().readNode('a')).toMatchObject(marks);
  expect(world.worker('a')?.cordon).toMatchObject({ wasUnschedulable: false, wasExcluded: false });
  await world.cancel(operation);
  await world.ticks(10);
  expect(world.worker('a')).toMatchObject({ state: 'in-service' });
  expect(world.cluster.look().readNode('a')).toMatchObject({
    isUnschedulable: false,
    isExcludedFromLoadBalancers: false,
  });
});

test('a-cordon-that-is-taken-back-before-ours-is-made-is-not-kept', async () => {
  const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
  const mark = (isUnschedulable: boolean) =>
    world.cluster.look().markNode({ name: 'a', uid: 'uid-a' }, { isUnschedulable });
  mark(true);
  const operation = await world.drain(['a']);
  for (let nth = 0; nth < 20 && world.item(operation, 'edge.a')?.step !== 'cordon'; nth += 1) await world.pass();
  expect(world.worker('a')?.cordon).toMatchObject({ wasUnschedulable: true, isConfirmed: false });
  mark(false);
  await world.ticks(5);
  expect(world.isCordoned('a')).toBe(true);
  expect(world.worker('a')?.cordon).toMatchObject({ wasUnschedulable: false, isConfirmed: true });
});
