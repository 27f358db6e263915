// Workers that are forgotten, and those that are lost.
import { expect, test } from 'vitest';
import type { Worker } from '../model.ts';
import { EDGE, worker, workload, WorkersWorld } from '../workers-fixture.ts';
import { returnWorkers } from './decide.ts';
import { forgetWorkers } from './forget.ts';

const forget = (world: WorkersWorld, nodes: readonly string[]) =>
  world.commit((fleet) => forgetWorkers(fleet, { cluster: EDGE, nodes }));

test('an-adopted-worker-is-forgotten, and nothing is done to its Node and its instance', async () => {
  const world = await WorkersWorld.of(['a'], workload('web'));
  await world.buildInstance('vm');
  await world.put(worker('a', { isAdopted: true, instance: 'vm' }));
  const calls = world.cluster.calls.length;
  expect(await forget(world, ['edge.a'])).toEqual(['edge.a']);
  await world.ticks(3);
  expect(world.worker('a')).toBeUndefined();
  expect(world.hasInstance('vm')).toBe(true);
  expect(world.podsOn('a')).toHaveLength(2);
  expect(world.cluster.calls).toHaveLength(calls);
});

test.each<[string, Partial<Worker>, string]>([
  ['one that Muster has joined', {}, 'worker-not-adopted'],
  [
    'one that Muster has cordoned',
    {
      ...{ isAdopted: true, state: 'drained' },
      cordon: { operation: 'op-0', atMs: 0, wasUnschedulable: false, wasExcluded: false, isConfirmed: true },
    },
    'worker-cordoned',
  ],
])('%s is not forgotten', async (_, facts, code) => {
  const world = await WorkersWorld.of(['a']);
  await world.put(worker('a', facts));
  expect(await world.refusal((fleet) => forgetWorkers(fleet, { cluster: EDGE, nodes: ['a'] }))).toMatchObject({ code });
  // Its Node has gone, and its cordon with it.
  await world.put(worker('a', { ...facts, readiness: 'replaced' }));
  const isForgotten = code === 'worker-cordoned';
  if (isForgotten) expect(await forget(world, ['a'])).toEqual(['edge.a']);
  else await world.refusal((fleet) => forgetWorkers(fleet, { cluster: EDGE, nodes: ['a'] }));
});

test('one-that-an-operation-has-in-hand-is-not-forgotten', async () => {
  const world = await WorkersWorld.of(['a', 'b'], workload('web', { minAvailable: 2 }));
  await world.put(worker('a', { isAdopted: true }));
  await world.drain(['a']);
  expect(await world.refusal((fleet) => forgetWorkers(fleet, { cluster: EDGE, nodes: ['a'] }))).toMatchObject({
    code: 'worker-busy',
  });
});

test.each([
  [['x'], 'unknown-worker', '/workers/0'],
  [['a', 'edge.a'], 'duplicate-worker', '/workers/1'],
  [['other.a'], 'worker-of-other-cluster', '/workers/0'],
])('to forget %j is refused: %s', async (nodes, code, field) => {
  const world = await WorkersWorld.of(['a']);
  await world.put(worker('a', { isAdopted: true }));
  expect(await world.refusal((fleet) => forgetWorkers(fleet, { cluster: EDGE, nodes }))).toMatchObject({ code, field });
});

test('never: a worker is given back whose instance was deleted by force', async () => {
  const world = await WorkersWorld.of(['a', 'b'], workload('web'));
  expect(await world.runOperation(await world.drain(['a', 'b']))).toBe('succeeded');
  const forced = { disruption: 'delete', by: 'ann', atMs: 0 } as const;
  const lost = world.worker('a');
  if (lost === undefined) throw new Error('worker a is gone');
  await world.put(worker('a', { ...lost, forced }));
  const request = { cluster: EDGE, operation: world.operation(), by: 'ann', nowMs: world.nowMs, nodes: ['b', 'a'] };
  expect(await world.refusal((fleet) => returnWorkers(fleet, request))).toMatchObject({
    code: 'worker-instance-deleted',
    facts: { worker: 'edge.a' },
  });
  expect(world.worker('b')?.state).toBe('drained');
  expect(await world.runOperation(await world.remove(['a']))).toBe('succeeded');
  expect(world.worker('a')).toBeUndefined();
});
