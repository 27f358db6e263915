// Adoption of Nodes that are in a cluster already.
import { expect, test } from 'vitest';
import type { ClusterNode } from '../cluster-api/cluster-api.ts';
import { EDGE, simulatedNode, WorkersWorld } from '../workers-fixture.ts';
import { adoptNodes, type AdoptedNode } from './adopt.ts';

async function worldWith(...nodes: readonly string[]): Promise<WorkersWorld> {
  const world = await WorkersWorld.of(['a']);
  for (const node of nodes)
    world.cluster.objects.nodes.put(node, simulatedNode(node, { isControlPlane: node === 'master' }));
  return world;
}

function command(world: WorkersWorld, nodes: readonly AdoptedNode[], cluster = EDGE) {
  const seen = new Map<string, ClusterNode>(
    world.cluster
      .look()
      .listNodes()
      .map((node) => [node.name, node]),
  );
  return { cluster, nodes, seen, canSeeInstance: () => true, by: 'ann', nowMs: world.nowMs };
}

test('a-node-becomes-a-worker-in-service, with its instance', async () => {
  const world = await worldWith('b');
  await world.build('web-b');
  await world.remove(['web-b']).then((id) => world.runOperation(id));
  await world.commit((fleet) => adoptNodes(fleet, command(world, [{ node: 'b' }])));
  expect(world.worker('b')).toMatchObject({
    state: 'in-service',
    readiness: 'ready',
    nodeUid: 'uid-b',
    isAdopted: true,
  });
  expect(world.violations).toEqual([]);
});

test('never: an instance that the caller may not see is adopted, and deleted with its worker', async () => {
  const world = await worldWith('b');
  await world.build('d');
  const [foreign, missing] = ['d', 'nowhere'].map((instance) =>
    adoptNodes(world.fleet, { ...command(world, [{ node: 'b', instance }]), canSeeInstance: () => false }),
  );
  expect(foreign).toMatchObject({ kind: 'refuse', refusal: { code: 'unknown-instance' } });
  // Neither is told from the other.
  expect(JSON.stringify(foreign).replaceAll('"d"', '').replaceAll('\\"d\\"', '')).toBe(
    JSON.stringify(missing).replaceAll('"nowhere"', '').replaceAll('\\"nowhere\\"', ''),
  );
});

test('an-instance-is-one-worker', async () => {
  const world = await worldWith('b', 'c');
  await world.build('d');
  const refused = (nodes: readonly AdoptedNode[]) => world.refusal((fleet) => adoptNodes(fleet, command(world, nodes)));
  expect(await refused([{ node: 'b', instance: 'd' }])).toMatchObject({ code: 'instance-is-worker' });
  expect(await refused([{ node: 'b', instance: 'none' }])).toMatchObject({ code: 'unknown-instance' });
});

test.each([
  [[{ node: 'x' }], 'unknown-node'],
  [[{ node: 'master' }], 'control-plane-node'],
  [[{ node: 'a' }], 'worker-exists'],
  [[{ node: 'b' }, { node: 'b' }], 'duplicate-worker'],
  [[{ node: 'b' }, { node: 'x' }], 'unknown-node'],
])('%j is refused, and nothing is changed: %s', async (nodes, code) => {
  const world = await worldWith('b', 'master');
  const before = world.fleet.revision;
  expect(await world.refusal((fleet) => adoptNodes(fleet, command(world, nodes)))).toMatchObject({ code });
  expect(world.fleet.revision).toBe(before);
});
