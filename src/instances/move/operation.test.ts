// The operation `instance-move`, step by step as planned, and its failures before the source has migrated the instance.
import { describe, expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { BUILD_FAILURES } from '../../scheduler/index.ts';
import { deleteInstances } from '../delete/request.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { HOUR_MS, move, startActive } from './moves-fixture.ts';
import { renderPlan } from '../plan-fixture.ts';

function failuresOf(world: InstancesWorld, host: string): number {
  return world.fleet.get(BUILD_FAILURES, idOf(BUILD_FAILURES, host))?.doc.count ?? 0;
}

describe('the plan of each step', () => {
  const steps: string[][] = [];

  test('embedded: no step leaves a choice', async () => {
    const world = await startActive();
    const operation = await move(world);
    for (const step of ['schedule', 'prepare', 'migrate', 'switch', 'activate', 'clean-source']) {
      await world.runUntilStep(operation, 'web', step);
      steps.push([step, ...renderPlan(world, operation, 'web')]);
    }
    expect(steps.map((lines) => lines.join('\n  ')).join('\n')).toMatchInlineSnapshot(`
      "schedule
        decide: running prepare at h4; instance web (moving, h2), claim web:move (move, h4)
      prepare
        task for h4: prepare {"instance":"web","vcpus":1,"memoryMiB":512,"diskGiB":1,"network":"ready","nics":[{"port":"web-p0","nic":0,"network":"n","backEnd":"embedded","mac":"02:00:00:00:10:00","addresses":["10.0.0.2"],"serial":1,"segment":"seg0","createdBy":"muster","pool":"segment:seg0"}],"kind":"live"}
      migrate
        task for h2: migrate {"instance":"web","target":"h4","kind":"live"}
      switch
        decide: running activate at h4; instance web (moving, h4), claim web (home, h4), no claim web:move, port web-p0 (made)
      activate
        task for h4: activate {"instance":"web","nics":[{"port":"web-p0","nic":0,"network":"n","backEnd":"embedded","mac":"02:00:00:00:10:00","addresses":["10.0.0.2"],"serial":2,"segment":"seg0","type":"ovs","createdBy":"muster","pool":"segment:seg0"}],"kind":"live"}
      clean-source
        task for h2: destroy {"instance":"web","nics":[],"ports":"leave"}"
    `);
  });

  test('simulated: the back end binds at the target before the switch', async () => {
    const world = await startActive('simulated');
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind');
    expect(renderPlan(world, operation, 'web').join('\n')).toMatchInlineSnapshot(
      `"act: simulated is to activate-binding web-p0 under serial 2"`,
    );
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.ports('web')[0]?.binding).toMatchObject({ host: 'h4' });
    expect(world.network.port('web-p0')?.binding).toMatchObject({ host: 'h4' });
    expect(world.violations).toEqual([]);
  });
});

describe('before the source migrates the instance', () => {
  test('no-target: the instance stays active with the report, and the next success clears it', async () => {
    const world = await startActive();
    for (const host of ['h4', 'h5']) await world.edit(host, { disabled: { reason: 'x', by: 'x', atMs: 0 } });
    const operation = await move(world);
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('failed');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
    expect(world.instance('web')?.fault?.report?.hosts).toBe(5);
    expect(JSON.stringify(world.item(operation, 'web')).length).toBeLessThan(1024);
    expect(world.claim('web', 'move')).toBeUndefined();
    const again = await move(world, { target: 'h4' });
    await world.settle();
    expect(world.item(again, 'web')?.reason?.code).toBe('no-valid-host');
    await world.reconnectHost('h4');
    await move(world);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.instance('web')?.fault).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('a-try-fails: its claim is released at once, not when the next host is claimed', async () => {
    const world = await startActive();
    world.machines.fail({ task: 'prepare', times: 1, host: 'h4' });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'prepare');
    expect(world.claim('web', 'move')).toMatchObject({ host: 'h4' });
    await world.runUntilStep(operation, 'web', 'schedule');
    expect(world.claim('web', 'move')).toBeUndefined();
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
  });

  test.each(['prepare', 'migrate'])('%s-fails: swept, and the next host is tried', async (task) => {
    const world = await startActive();
    world.machines.fail({ task, times: 1, ...(task === 'prepare' && { host: 'h4' }) });
    const operation = await move(world);
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
    expect(world.machines.hostsWith('web')).toEqual(['h5']);
    expect(world.machines.log).toContain('destroy web on h4');
    expect(failuresOf(world, 'h4')).toBe(1);
    // A host that has answered a task would give the same answer for the same id.
    expect(new Set(world.machines.taskIds).size).toBe(world.machines.taskIds.length);
    expect(world.violations).toEqual([]);
  });

  test('no-way-works: after the tries it is active where it was, and each try is kept', async () => {
    const world = await startActive();
    world.machines.fail({ task: 'prepare', times: 9, fault: 'resources-gone' });
    const operation = await move(world);
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'no-valid-host' } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
    expect(world.instance('web')?.move?.tries).toMatchObject([
      { nth: 1, host: 'h4', fault: 'resources-gone', excludes: 'host' },
      { nth: 2, host: 'h5', fault: 'resources-gone', excludes: 'host' },
    ]);
    expect(world.machines.hostsWith('web')).toEqual(['h2']);
    expect(world.claim('web', 'move')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('a-named-target-is-tried-once', async () => {
    const world = await startActive();
    world.machines.fail({ task: 'prepare', times: 1 });
    const operation = await move(world, { target: 'h4' });
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'attempts-exhausted' } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.machines.log).not.toContain('prepare web on h5');
  });

  test('the-target-goes-down-while-it-prepares: another one is found, and it is swept when it is back', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'prepare');
    world.machines.perform('h4', { kind: 'prepare', args: { instance: 'web' } });
    await world.disconnectHost('h4');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
    expect(world.machines.hostsWith('web')).toEqual(['h4', 'h5']);
    await world.reconnectHost('h4');
    await world.settle();
    expect(world.machines.hostsWith('web')).toEqual(['h5']);
    expect(world.violations).toEqual([]);
  });

  test('the-source-goes-down: it waits with a reason, and goes on when the source is back', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    await world.disconnectHost('h2');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({
      state: 'waiting',
      step: 'migrate',
      reason: { code: 'source-not-connected', host: 'h2' },
    });
    await world.reconnectHost('h2');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });

  test('the-source-is-removed: the move says that it was, and not that it is forced down', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'prepare');
    await world.disconnectHost('h2');
    await world.edit('h2', { state: 'removed' });
    await world.settle();
    const message = `Host h2 was removed before it had migrated the instance. Build it elsewhere with "muster instances rebuild web".`;
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'source-lost', message } });
  });

  test.each(['prepare', 'migrate'])(
    'the-source-is-forced-down-at-%s: the move fails with source-lost',
    async (step) => {
      const world = await startActive();
      const operation = await move(world);
      await world.runUntilStep(operation, 'web', step);
      await world.disconnectHost('h2');
      await world.forceDown('h2');
      await world.settle();
      const message = `Host h2 was forced down before it had migrated the instance. Build it elsewhere with "muster instances rebuild web".`;
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'source-lost', message } });
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'source-lost' } });
      // The force-down of the source may be wrong: it may still send the instance, and then the target has the only copy.
      expect(world.machines.hostsWith('web')).toEqual(step === 'migrate' ? ['h2', 'h4'] : ['h2']);
      expect(world.claim('web', 'move')).toBeUndefined();
      expect(world.violations).toEqual([]);
    },
  );

  test('the-source-does-not-have-it: the instance is in error and says so', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    world.machines.copies.delete('h2/web');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'instance-lost' } });
    expect(world.instance('web')).toMatchObject({ state: 'error', host: 'h2', fault: { code: 'instance-lost' } });
    expect(world.violations).toEqual([]);
  });
});

describe('a delete wins', () => {
  const STEPS = ['schedule', 'prepare', 'migrate', 'switch', 'activate', 'clean-source'];

  test.each(STEPS)('at %s', async (step) => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', step);
    const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, command));
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'instance-deleted' } });
    expect(world.instance('web')).toBeUndefined();
    expect(world.port('web-p0')).toBeUndefined();
    expect([world.claim('web'), world.claim('web', 'move')]).toEqual([undefined, undefined]);
    expect(world.machines.hostsWith('web')).toEqual([]);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});
