// Requests for moves: which are refused, and the instance before, during and after one.
import { describe, expect, test } from 'vitest';
import type { FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { moveInstances, type MoveInstances } from './move.ts';

async function startActive(): Promise<InstancesWorld> {
  const world = await InstancesWorld.of();
  await world.create();
  await world.settle();
  return world;
}

function decideMove(world: InstancesWorld, facts: Partial<MoveInstances> = {}) {
  const command: MoveInstances = {
    ids: ['web'],
    kind: 'live',
    operation: world.operation(),
    by: 'ann',
    nowMs: world.nowMs,
    deadlineMs: 3_600_000,
    ...facts,
  };
  return (fleet: FleetReader): Decision<{ readonly operation: OperationId }> => moveInstances(fleet, command);
}

describe('a move is refused and changes nothing', () => {
  test.each([
    ['unknown-instance', { ids: ['nobody'] }],
    ['duplicate-instance', { ids: ['web', 'web'] }],
    ['unknown-host', { target: 'h9' }],
    ['same-host', { target: 'h2' }],
  ] as const)('%s', async (code, facts) => {
    const world = await startActive();
    const before = world.fleet.revision;
    const refusal = await world.refusal(decideMove(world, facts));
    expect(refusal).toMatchObject({ code });
    expect(refusal.message).toMatch(/\. |"\.$|\.$/);
    expect(world.fleet.revision).toBe(before);
  });

  test('not-active', async () => {
    const world = await InstancesWorld.of();
    await world.create();
    expect(await world.refusal(decideMove(world))).toMatchObject({ code: 'not-active', facts: { state: 'building' } });
  });

  test('being-deleted', async () => {
    const world = await startActive();
    const operation = world.operation();
    const command = { ids: ['web'], operation, by: 'ann', nowMs: world.nowMs, deadlineMs: 1000 };
    await world.commit((fleet) => deleteInstances(fleet, command));
    expect(await world.refusal(decideMove(world))).toMatchObject({ code: 'being-deleted' });
  });

  test('source-lost: a dead host migrates nothing', async () => {
    const world = await startActive();
    await world.forceDown('h2');
    const refusal = await world.refusal(decideMove(world));
    expect(refusal).toMatchObject({ code: 'source-lost' });
    expect(refusal.message).toBe(
      'Host "h2" is forced down: instance "web" cannot be moved from there. Build it elsewhere with "muster instances rebuild web"; if the host is on after all, say so with "muster hosts clear-force-down h2".',
    );
  });

  test('one-of-two-cannot-move-so-none-does', async () => {
    const world = await startActive();
    await world.create({ name: 'db' });
    await world.refusal(decideMove(world, { ids: ['web', 'db'] }));
    expect(world.instance('web')?.state).toBe('active');
  });
});

test('the-request-itself-makes-the-instance-moving', async () => {
  const world = await startActive();
  const { operation } = await world.commit(decideMove(world, { kind: 'cold', target: 'h5' }));
  expect(world.instance('web')).toMatchObject({
    state: 'moving',
    host: 'h2',
    move: { operation, kind: 'cold', from: 'h2', target: 'h5', tries: [] },
  });
  expect(world.operationDoc(operation)).toMatchObject({ kind: 'instance-move', title: 'cold move of instance web' });
});

test('scheduling-5-migrate: from h2 to h4 with the same addresses', async () => {
  const world = await startActive();
  const [before] = world.ports('web');
  const { operation } = await world.commit(decideMove(world));
  await world.settle();
  const [after] = world.ports('web');
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  expect(world.instance('web')?.move).toBeUndefined();
  expect(after).toMatchObject({ addresses: before?.addresses, mac: before?.mac, binding: { host: 'h4', serial: 2 } });
  expect(world.claim('web')).toMatchObject({ role: 'home', host: 'h4' });
  expect(world.claim('web', 'move')).toBeUndefined();
  expect(world.machines.hostsWith('web')).toEqual(['h4']);
  expect(world.machines.log.slice(1)).toEqual([
    'prepare web on h4',
    'migrate web on h2',
    'activate web on h4',
    'destroy web on h2',
  ]);
  expect(world.operationDoc(operation)?.state).toBe('succeeded');
  expect(world.violations).toEqual([]);
});

test('a-moved-instance-can-move-back-and-is-distinguished-by-serial', async () => {
  const world = await startActive();
  await world.commit(decideMove(world));
  await world.settle();
  await world.commit(decideMove(world, { target: 'h2' }));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  expect(world.ports('web')[0]?.binding).toMatchObject({ host: 'h2', serial: 3 });
  expect(world.machines.hostsWith('web')).toEqual(['h2']);
  expect(world.violations).toEqual([]);
});

test('a-host-that-was-asked-for-by-name-at-the-build-does-not-bind-the-move', async () => {
  const world = await InstancesWorld.of();
  await world.create({ place: { onlyHost: 'h2' } });
  await world.settle();
  await world.commit(decideMove(world));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  expect(world.instance('web')?.place.onlyHost).toBeUndefined();
});
