// What is committed of what is seen of a cluster: transitions alone.
import { expect, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { idOf } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { CLUSTER } from '../model.ts';
import { EDGE, simulatedNode, WorkersWorld } from '../workers-fixture.ts';
import { recordObservation, type ClusterObservation } from './observe.ts';

async function observe(world: WorkersWorld, observation: ClusterObservation): Promise<number> {
  const observed = { cluster: EDGE, observation, nowMs: world.nowMs };
  const changes = recordObservation(world.fleet, observed);
  await world.commit((fleet) => accept(recordObservation(fleet, observed), null));
  return changes.length;
}

const seen = (world: WorkersWorld): ClusterObservation => ({ kind: 'seen', nodes: world.cluster.look().listNodes() });
const cluster = (world: WorkersWorld) => world.fleet.get(CLUSTER, idOf(CLUSTER, EDGE))?.doc;

test('readiness: each transition once, and nothing in between', async () => {
  const world = await WorkersWorld.of(['a', 'b']);
  expect(await observe(world, seen(world))).toBe(0);
  world.cluster.objects.nodes.put('a', simulatedNode('a', { isSick: true }));
  world.cluster.objects.nodes.remove('b');
  expect(await observe(world, seen(world))).toBe(2);
  expect(world.worker('a')).toMatchObject({ readiness: 'not-ready' });
  expect(world.worker('b')).toMatchObject({ readiness: 'missing' });
  expect(await observe(world, seen(world))).toBe(0);
});

test('a-silent-cluster-is-one-alarm, and what was seen last stays', async () => {
  const world = await WorkersWorld.of(['a', 'b']);
  await observe(world, { kind: 'silent', text: 'connection refused' });
  expect(await observe(world, { kind: 'silent', text: 'connection refused' })).toBe(0);
  expect(cluster(world)).toMatchObject({ state: 'silent' });
  expect(world.worker('a')).toMatchObject({ readiness: 'ready' });
  expect([...world.fleet.all(ALARM)].map(({ doc }) => doc.reason)).toMatchObject([
    { code: 'cluster-silent', cluster: EDGE },
  ]);
  await observe(world, seen(world));
  expect(cluster(world)).toMatchObject({ state: 'reachable' });
  expect([...world.fleet.all(ALARM)]).toEqual([]);
});

test('a-node-that-was-made-again-is-the-same-worker, unless an operation has it in hand', async () => {
  const world = await WorkersWorld.of(['a', 'b']);
  world.cluster.objects.nodes.put('a', simulatedNode('a', { uid: 'again' }));
  await observe(world, seen(world));
  expect(world.worker('a')).toMatchObject({ nodeUid: 'again' });
  await world.drain(['b']);
  world.cluster.objects.nodes.put('b', simulatedNode('b', { uid: 'again' }));
  await observe(world, seen(world));
  expect(world.worker('b')).toMatchObject({ nodeUid: 'uid-b' });
});

test('what-muster-may-not-do-there-is-kept', async () => {
  const world = await WorkersWorld.of(['a']);
  const missingPermissions = [{ verb: 'delete', resource: 'nodes' }];
  await observe(world, { ...seen(world), kind: 'seen', nodes: [], facts: { version: 'v1.20.2', missingPermissions } });
  expect(cluster(world)).toMatchObject({ version: 'v1.20.2', missingPermissions });
});
