// What is committed of what is seen of a cluster: transitions alone.
import { expect, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { idOf } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { CLUSTER } from '../model.ts';
import { EDGE, simulatedNode, worker, WorkersWorld } from '../workers-fixture.ts';
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

const PROVIDER = 'muster:///edge/a';

test('a-node-that-was-made-again-is-the-same-worker where its provider id says so, unless an operation has it in hand', async () => {
  const world = await WorkersWorld.of(['a', 'b']);
  await world.put(worker('a', { providerId: PROVIDER }), worker('b', { providerId: PROVIDER }));
  await world.drain(['b']);
  for (const node of ['a', 'b'])
    world.cluster.objects.nodes.put(node, simulatedNode(node, { uid: 'again', providerId: PROVIDER }));
  await observe(world, seen(world));
  expect(world.worker('a')).toMatchObject({ nodeUid: 'again', readiness: 'ready' });
  expect(world.worker('b')).toMatchObject({ nodeUid: 'uid-b', readiness: 'replaced' });
});

test.each([
  ['one that says nothing', undefined, undefined],
  ['one that says nothing, of a worker that Muster has joined', PROVIDER, undefined],
  ['one that says that it is another machine', PROVIDER, 'cloud:///other'],
])('never: a Node that took the name is taken for the worker: %s', async (_, known, says) => {
  const world = await WorkersWorld.of(['a']);
  await world.put(worker('a', known === undefined ? {} : { providerId: known }));
  const foreign = { uid: 'foreign', ...(says !== undefined && { providerId: says }) };
  world.cluster.objects.nodes.put('a', simulatedNode('a', foreign));
  expect(await observe(world, seen(world))).toBe(1);
  expect(world.worker('a')).toMatchObject({ nodeUid: 'uid-a', readiness: 'replaced' });
  expect(await observe(world, seen(world))).toBe(0);
});

test('a-node-that-gets-the-label-of-the-control-plane-later-is-no-victim, until the label goes', async () => {
  const world = await WorkersWorld.of(['a', 'b']);
  world.cluster.objects.nodes.put('a', simulatedNode('a', { isControlPlane: true }));
  expect(await observe(world, seen(world))).toBe(1);
  expect(await world.refuseDrain({ workers: { nodes: ['b', 'a'] } })).toMatchObject({
    code: 'control-plane-node',
    field: '/workers/1',
  });
  expect(await world.refuseDrain({ workers: { count: 2 } })).toMatchObject({ code: 'too-few-workers' });
  // Nor is it the first when it is the only one that is not well.
  world.cluster.objects.nodes.put('a', simulatedNode('a', { isControlPlane: true, isSick: true }));
  await observe(world, seen(world));
  await world.drain([], { workers: { count: 1 } });
  expect(world.worker('b')?.work).toBeDefined();
  expect(world.worker('a')?.work).toBeUndefined();
  world.cluster.objects.nodes.put('a', simulatedNode('a'));
  await observe(world, seen(world));
  expect(world.worker('a')?.isControlPlane).toBeUndefined();
  await world.drain(['a']);
});

test('what-muster-may-not-do-there-is-kept', async () => {
  const world = await WorkersWorld.of(['a']);
  const missingPermissions = [{ verb: 'delete', resource: 'nodes' }];
  await observe(world, { ...seen(world), kind: 'seen', nodes: [], facts: { version: 'v1.20.2', missingPermissions } });
  expect(cluster(world)).toMatchObject({ version: 'v1.20.2', missingPermissions });
});
