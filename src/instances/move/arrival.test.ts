// Moves after the source has migrated the instance, moves to older hosts, and moves that pass their deadline.
import { describe, expect, test } from 'vitest';
import { put } from '../../fleet/index.ts';
import { CLAIM, claimId, PORTS_BY_HOST, type Claim } from '../../network/index.ts';
import { retryOperation, type OperationId } from '../../operations/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { HOUR_MS, move, startActive } from './moves-fixture.ts';
import { rebuildInstances } from '../shelve-rebuild/rebuild.ts';
import { fixtureF, KINDS } from '../reference-fixture.ts';

describe('after the source has migrated the instance', () => {
  test('a-lost-answer: asked again, the source answers that it was sent', async () => {
    const world = await startActive();
    world.machines.fail({ task: 'migrate', times: 1, after: true });
    await move(world);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.machines.hostsWith('web')).toEqual(['h4']);
  });

  test('activate-fails: only forward, again and again', async () => {
    const world = await startActive();
    world.machines.fail({ task: 'activate', times: 3 });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'activate');
    await world.tick();
    expect(world.item(operation, 'web')).toMatchObject({
      state: 'waiting',
      reason: { code: 'not-activated', host: 'h4' },
    });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.machines.log.filter((line) => line.startsWith('activate'))).toHaveLength(4);
  });

  test('the-back-end-does-not-answer: the order is repeated under the same serial', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', outcome: 'unavailable', times: 3 });
    world.network.faults.arm({ op: 'activate', outcome: 'applied-but-lost', times: 1 });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind');
    await world.pass();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'waiting', reason: { code: 'not-bound', calls: 1 } });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.addresses('web')).toEqual(['10.0.0.2']);
    expect(world.violations).toEqual([]);
  });

  test.each(['switch', 'activate'])(
    'the-target-is-forced-down-at-%s: in error there, and rebuildable',
    async (step) => {
      const world = await startActive();
      const operation = await move(world);
      await world.runUntilStep(operation, 'web', step);
      world.machines.copies.set('h2/web', 'prepared');
      await world.disconnectHost('h4');
      await world.forceDown('h4');
      await world.settle();
      expect(world.machines.hostsWith('web')).toEqual(['h4']);
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'target-lost' } });
      expect(world.instance('web')).toMatchObject({ state: 'error', host: 'h4', fault: { code: 'target-lost' } });
      expect(world.claim('web')).toMatchObject({ host: 'h4', role: 'home' });
      expect([...world.fleet.find(PORTS_BY_HOST, 'h2')]).toEqual([]);
      expect(world.violations).toEqual([]);
    },
  );

  test('the-target-goes-down-at-activate: it waits, and goes on when it is back', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'activate');
    await world.disconnectHost('h4');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'waiting', reason: { code: 'target-not-connected' } });
    await world.reconnectHost('h4');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });

  test('the-source-goes-down-before-it-is-cleaned: the move is over, and the source is swept when it is back', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'clean-source');
    await world.disconnectHost('h2');
    await world.settle();
    expect(world.item(operation, 'web')?.state).toBe('done');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.open()).toEqual([expect.stringContaining('host-not-connected')]);
    await world.reconnectHost('h2');
    await world.settle();
    expect(world.machines.log.at(-1)).toBe('destroy web on h2');
    expect(world.open()).toEqual([]);
  });
});

test('a-claim-that-is-not-at-the-target-goes-with-the-move: nothing arrives there, and nothing is held there', async () => {
  const world = await startActive();
  const operation = await move(world);
  await world.runUntilStep(operation, 'web', 'switch');
  const claim = world.claim('web', 'move');
  expect(claim).toMatchObject({ host: 'h4' });
  // No path of the program leads here: whatever did, the move must not leave it behind.
  await world.put(put(CLAIM, claimId('web', 'move'), { ...(claim as Claim), host: 'h5' }));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'target-lost' } });
  expect([world.claim('web'), world.claim('web', 'move')]).toEqual([undefined, undefined]);
  expect(world.violations).toEqual([]);
});

describe('older hosts, which bind by themselves', () => {
  test.each([
    [2, 'embedded'],
    [2, 'simulated'],
    [1, 'embedded'],
    [1, 'simulated'],
    [1, 'host-local'],
  ] as const)(
    'version %i on a network of %s: bound when it runs at the target, not before',
    async (version, backEnd) => {
      const world = await InstancesWorld.of(fixtureF(backEnd));
      for (const name of ['h1', 'h2', 'h3', 'h4', 'h5']) await world.edit(name, { serviceVersion: version });
      await world.create();
      await world.settle();
      const [before] = world.ports('web');
      expect(before?.binding).toMatchObject({ host: 'h2' });
      expect(before?.addresses).toHaveLength(1);
      const operation = await move(world);
      await world.runUntilStep(operation, 'web', 'activate');
      expect(world.ports('web')[0]?.binding).toBeUndefined();
      await world.settle();
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4', path: { bind: 'host' } });
      expect(world.ports('web')[0]).toMatchObject({ addresses: before?.addresses, binding: { host: 'h4' } });
      expect(world.machines.log).toContain('activate web on h4');
      expect(world.violations).toEqual([]);
    },
  );
});

describe('the deadline', () => {
  async function passed(step: string): Promise<{ world: InstancesWorld; operation: OperationId }> {
    const world = await startActive();
    const operation = await move(world, { deadlineMs: 600_000 });
    await world.runUntilStep(operation, 'web', step);
    world.clock.now += 700_000;
    await world.pass();
    await world.pass();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
    return { world, operation };
  }

  async function retried({ world, operation }: { world: InstancesWorld; operation: OperationId }): Promise<void> {
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.instance('web')?.fault).toBeUndefined();
    expect(world.machines.hostsWith('web')).toEqual(['h4']);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
  }

  test.each(['schedule', 'prepare'])('at-%s: it stays where it was, and a retry begins anew', async (step) => {
    const ended = await passed(step);
    expect(ended.world.instance('web')).toMatchObject({
      state: 'active',
      host: 'h2',
      fault: { code: 'deadline-passed' },
    });
    expect(ended.world.claim('web', 'move')).toBeUndefined();
    // The prepared copy is swept first: until then the host is excluded.
    await ended.world.settle();
    await retried(ended);
  });

  test.each(['migrate', 'switch'])('at-%s: it is moving still, and a retry goes on', async (step) => {
    const ended = await passed(step);
    expect(ended.world.instance('web')).toMatchObject({ state: 'moving', fault: { code: 'deadline-passed' } });
    await retried(ended);
  });

  test('at-activate: it is at its target, not active, and a retry goes on there', async () => {
    const ended = await passed('activate');
    expect(ended.world.instance('web')).toMatchObject({
      state: 'moving',
      host: 'h4',
      fault: { code: 'deadline-passed' },
    });
    expect(ended.world.instance('web')?.fault?.message).toContain('muster operations retry');
    await retried(ended);
    expect(ended.world.machines.log.filter((line) => line.startsWith('prepare'))).toHaveLength(1);
  });

  test.each(['migrate', 'switch'])(
    'at-%s, and the source dies: it can be built elsewhere, and both ends are swept',
    async (step) => {
      const { world, operation } = await passed(step);
      const command = {
        ids: ['web'],
        operation: world.operation(),
        by: 'ann',
        nowMs: world.nowMs,
        deadlineMs: HOUR_MS,
      };
      expect(await world.refusal((fleet) => rebuildInstances(fleet, command))).toMatchObject({
        code: 'host-not-confirmed-down',
      });
      await world.disconnectHost('h2');
      await world.forceDown('h2');
      await world.commit((fleet) => rebuildInstances(fleet, command));
      await world.settle();
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
      expect(world.claim('web', 'move')).toBeUndefined();
      expect(world.machines.log).toContain('destroy web on h4');
      await world.reconnectHost('h2');
      await world.settle();
      expect(world.machines.hostsWith('web')).toEqual(['h5']);
      await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
      await world.settle();
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'move-superseded' } });
      expect(world.violations).toEqual([]);
    },
  );

  test('while-it-moves-it-is-not-rebuilt', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    await world.forceDown('h2');
    const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    expect(await world.refusal((fleet) => rebuildInstances(fleet, command))).toMatchObject({ code: 'not-rebuildable' });
  });

  test('at-clean-source: it has moved, and a sweep does the rest', async () => {
    const ended = await passed('clean-source');
    ended.world.machines.copies.set('h2/web', 'prepared');
    expect(ended.world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    await retried(ended);
  });

  test('a-retry-while-another-operation-moves-it: superseded', async () => {
    const { world, operation } = await passed('schedule');
    const other = await move(world);
    await world.runUntilStep(other, 'web', 'prepare');
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'move-superseded' } });
    expect(world.operationDoc(other)?.state).toBe('succeeded');
  });

  test('a-retry-after-another-operation-moved-it: superseded', async () => {
    const { world, operation } = await passed('schedule');
    await move(world);
    await world.settle();
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'move-superseded' } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });
});
