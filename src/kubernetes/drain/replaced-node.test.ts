// A Node that was deleted and registered again while its worker was being drained.
import { expect, test } from 'vitest';
import { simulatedNode, workload, WorkersWorld } from '../workers-fixture.ts';

test('a-new-request-drains-the-node-that-is-there-now, and a retry of the one before does not', async () => {
  const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
  const operation = await world.drain(['a']);
  await world.ticks(5);
  world.cluster.look().deleteNode({ name: 'a', uid: 'uid-a' });
  world.cluster.objects.nodes.put('a', simulatedNode('a', { uid: 'again' }));
  world.cluster.objects.workloads.put('web', workload('web', { replicas: 2, nextPod: 9 }));
  expect(await world.runOperation(operation)).toBe('failed');
  expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'node-replaced' });
  await world.retry(operation);
  expect(await world.runOperation(operation)).toBe('failed');
  expect(world.isCordoned('a')).toBe(false);
  expect(await world.runOperation(await world.drain(['a']))).toBe('succeeded');
  expect(world.worker('a')).toMatchObject({ state: 'drained', nodeUid: 'again' });
  expect(world.isCordoned('a')).toBe(true);
  expect(world.violations).toEqual([]);
});
