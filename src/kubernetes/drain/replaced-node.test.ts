// A Node that was deleted and registered again while its worker was being drained.
import { expect, test } from 'vitest';
import { accept } from '../../journal/index.ts';
import { recordObservation } from '../clusters/observe.ts';
import type { Worker } from '../model.ts';
import { adoptNodes } from '../workers/adopt.ts';
import { EDGE, simulatedNode, worker, workload, WorkersWorld } from '../workers-fixture.ts';

async function replaceWhileDrained(facts: Partial<Worker>): Promise<WorkersWorld> {
  const world = await WorkersWorld.of(['a', 'b'], workload('web', { replicas: 2, minAvailable: 2 }));
  await world.put(worker('a', facts));
  const operation = await world.drain(['a']);
  await world.ticks(5);
  world.cluster.look().deleteNode({ name: 'a', uid: 'uid-a' });
  world.cluster.objects.nodes.put('a', simulatedNode('a', { uid: 'again', ...pick(facts) }));
  world.cluster.objects.workloads.put('web', workload('web', { replicas: 2, nextPod: 9 }));
  expect(await world.runOperation(operation)).toBe('failed');
  expect(world.item(operation, 'edge.a')?.reason).toMatchObject({ code: 'node-replaced' });
  await world.retry(operation);
  expect(await world.runOperation(operation)).toBe('failed');
  expect(world.isCordoned('a')).toBe(false);
  return world;
}

function pick({ providerId }: Partial<Worker>): { readonly providerId?: string } {
  return providerId === undefined ? {} : { providerId };
}

async function look(world: WorkersWorld): Promise<void> {
  const nodes = world.cluster.look().listNodes();
  const observed = { cluster: EDGE, observation: { kind: 'seen', nodes }, nowMs: world.nowMs } as const;
  await world.commit((fleet) => accept(recordObservation(fleet, observed), null));
}

test('a-new-request-drains-the-node-that-is-there-now where it is the same machine, and a retry of the one before does not', async () => {
  const world = await replaceWhileDrained({ providerId: 'muster:///edge/a' });
  await look(world);
  expect(await world.runOperation(await world.drain(['a']))).toBe('succeeded');
  expect(world.worker('a')).toMatchObject({ state: 'drained', nodeUid: 'again' });
  expect(world.isCordoned('a')).toBe(true);
  expect(world.violations).toEqual([]);
});

test('never: a new request touches a Node that took the name of an adopted worker, before an operator says that it is the worker', async () => {
  const world = await replaceWhileDrained({ isAdopted: true });
  await look(world);
  expect(world.worker('a')).toMatchObject({ nodeUid: 'uid-a', readiness: 'replaced' });
  const again = await world.drain(['a']);
  expect(await world.runOperation(again)).toBe('failed');
  expect(world.item(again, 'edge.a')?.reason).toMatchObject({ code: 'node-replaced' });
  expect(world.isCordoned('a')).toBe(false);

  const seen = new Map(
    world.cluster
      .look()
      .listNodes()
      .map((node) => [node.name, node] as const),
  );
  const adopted = { cluster: EDGE, nodes: [{ node: 'a' }], seen, canSeeInstance: () => true };
  await world.commit((fleet) => adoptNodes(fleet, { ...adopted, by: 'ann', nowMs: world.nowMs }));
  expect(world.worker('a')).toMatchObject({ state: 'in-service', nodeUid: 'again', readiness: 'ready' });
  expect(world.worker('a')?.cordon).toBeUndefined();
  expect(await world.runOperation(await world.drain(['a']))).toBe('succeeded');
  expect(world.worker('a')).toMatchObject({ state: 'drained', nodeUid: 'again' });
  expect(world.violations).toEqual([]);
});
