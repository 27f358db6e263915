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
  // Neither is distinguished from the other.
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
  const both = { code: 'instance-is-worker', field: '/nodes/1/instance' };
  await world.buildInstance('e');
  expect(
    await refused([
      { node: 'b', instance: 'e' },
      { node: 'c', instance: 'e' },
    ]),
  ).toMatchObject(both);
});

test.each([
  [[{ node: 'x' }], 'unknown-node', '/nodes/0/node'],
  [[{ node: 'master' }], 'control-plane-node', '/nodes/0/node'],
  [[{ node: 'a' }], 'worker-exists', '/nodes/0/node'],
  [[{ node: 'b' }, { node: 'b' }], 'duplicate-worker', '/nodes/1/node'],
  [[{ node: 'b' }, { node: 'x' }], 'unknown-node', '/nodes/1/node'],
  [[{ node: 'b' }, { node: 'c', instance: 'none' }], 'unknown-instance', '/nodes/1/instance'],
])('%j is refused, and nothing is changed: %s', async (nodes, code, field) => {
  const world = await worldWith('b', 'c', 'master');
  const before = world.fleet.revision;
  expect(await world.refusal((fleet) => adoptNodes(fleet, command(world, nodes)))).toMatchObject({ code, field });
  expect(world.fleet.revision).toBe(before);
});
