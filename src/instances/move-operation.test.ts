// The operation `instance-move`, step by step as its plan says it, and everything that can go wrong on the way.
import { describe, expect, test } from 'vitest';
import { retryOperation, type OperationId } from '../operations/index.ts';
import { deleteInstances } from './delete.ts';
import { World } from './instances-fixture.ts';
import { moveInstances, type MoveInstances } from './move.ts';
import { planned } from './plan-fixture.ts';
import { fixtureF, KINDS } from './reference-fixture.ts';

const HOUR_MS = 3_600_000;

async function withActive(backEnd: Parameters<typeof fixtureF>[0] = 'embedded'): Promise<World> {
  const world = await World.of(fixtureF(backEnd));
  await world.create();
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  return world;
}

async function move(world: World, facts: Partial<MoveInstances> = {}): Promise<OperationId> {
  const operation = world.operation();
  const command = { ids: ['web'], kind: 'live' as const, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => moveInstances(fleet, { operation, ...command, ...facts }));
  return operation;
}

describe('the plan of each step', () => {
  const steps: string[][] = [];

  test('embedded: no step leaves a choice', async () => {
    const world = await withActive();
    const operation = await move(world);
    for (const step of ['schedule', 'prepare', 'migrate', 'switch', 'activate', 'clean-source']) {
      await world.until(operation, 'web', step);
      steps.push([step, ...planned(world, operation, 'web')]);
    }
    expect(steps.map((lines) => lines.join('\n  ')).join('\n')).toMatchInlineSnapshot(`
      "schedule
        decide: running prepare at h4; instance web (moving, h2), claim web.move (move, h4)
      prepare
        task for h4: prepare {"instance":"web","vcpus":1,"memoryMiB":512,"diskGiB":1,"network":"ready","nics":[{"port":"web-p0","nic":0,"network":"n","backEnd":"embedded","mac":"02:00:00:00:10:00","addresses":["10.0.0.2"],"serial":1,"segment":"seg0","createdBy":"muster","pool":"segment:seg0"}],"kind":"live"}
      migrate
        task for h2: migrate {"instance":"web","target":"h4","kind":"live"}
      switch
        decide: running activate at h4; instance web (moving, h4), claim web (home, h4), no claim web.move, port web-p0 (made)
      activate
        task for h4: activate {"instance":"web","nics":[{"port":"web-p0","nic":0,"network":"n","backEnd":"embedded","mac":"02:00:00:00:10:00","addresses":["10.0.0.2"],"serial":2,"segment":"seg0","type":"ovs","createdBy":"muster","pool":"segment:seg0"}],"kind":"live"}
      clean-source
        task for h2: destroy {"instance":"web","nics":[],"ports":"leave"}"
    `);
  });

  test('simulated: the back end binds at the target before the switch', async () => {
    const world = await withActive('simulated');
    const operation = await move(world);
    await world.until(operation, 'web', 'bind');
    expect(planned(world, operation, 'web').join('\n')).toMatchInlineSnapshot(
      `"act: simulated is to bind web-p0 under serial 2 at h4"`,
    );
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.ports('web')[0]?.binding).toMatchObject({ host: 'h4' });
    expect(world.network.port('web-p0')?.binding).toMatchObject({ host: 'h4' });
    expect(world.violations).toEqual([]);
  });
});

describe('before the source hands the instance over', () => {
  test('no-target: the instance stays active with the report, and the next success clears it', async () => {
    const world = await withActive();
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
    await world.comeBack('h4');
    await move(world);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.instance('web')?.fault).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test.each(['prepare', 'migrate'])('%s-fails: swept, and the next host is tried', async (task) => {
    const world = await withActive();
    world.machines.fail({ task, times: 1, ...(task === 'prepare' && { host: 'h4' }) });
    const operation = await move(world);
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
    expect(world.machines.having('web')).toEqual(['h5']);
    expect(world.machines.log).toContain('destroy web on h4');
    // A host that has answered a task would answer the same for one of the same id.
    expect(new Set(world.machines.taskIds).size).toBe(world.machines.taskIds.length);
    expect(world.violations).toEqual([]);
  });

  test('no-way-works: after the tries it is active where it was, and each try is kept', async () => {
    const world = await withActive();
    world.machines.fail({ task: 'prepare', times: 9, fault: 'resources-gone' });
    const operation = await move(world);
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'no-valid-host' } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
    expect(world.instance('web')?.move?.tries).toMatchObject([
      { nth: 1, host: 'h4', fault: 'resources-gone', excludes: 'host' },
      { nth: 2, host: 'h5', fault: 'resources-gone', excludes: 'host' },
    ]);
    expect(world.machines.having('web')).toEqual(['h2']);
    expect(world.claim('web', 'move')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('a-named-target-is-tried-once', async () => {
    const world = await withActive();
    world.machines.fail({ task: 'prepare', times: 1 });
    const operation = await move(world, { target: 'h4' });
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'attempts-exhausted' } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.machines.log).not.toContain('prepare web on h5');
  });

  test('the-target-goes-down-while-it-prepares: another one is found, and it is swept when it is back', async () => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', 'prepare');
    world.machines.perform('h4', { kind: 'prepare', args: { instance: 'web' } });
    await world.goDown('h4');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
    expect(world.machines.having('web')).toEqual(['h4', 'h5']);
    await world.comeBack('h4');
    await world.settle();
    expect(world.machines.having('web')).toEqual(['h5']);
    expect(world.violations).toEqual([]);
  });

  test('the-source-goes-down: it waits with a reason, and goes on when the source is back', async () => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', 'migrate');
    await world.goDown('h2');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({
      state: 'waiting',
      step: 'migrate',
      reason: { code: 'source-not-heard', host: 'h2' },
    });
    await world.comeBack('h2');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });

  test.each(['prepare', 'migrate'])(
    'the-source-is-forced-down-at-%s: the move fails with source-lost',
    async (step) => {
      const world = await withActive();
      const operation = await move(world);
      await world.until(operation, 'web', step);
      await world.goDown('h2');
      await world.forceDown('h2');
      await world.settle();
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'source-lost' } });
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'source-lost' } });
      expect(world.machines.having('web')).toEqual(['h2']);
      expect(world.claim('web', 'move')).toBeUndefined();
      expect(world.violations).toEqual([]);
    },
  );

  test('the-source-does-not-have-it: the instance is in error and says so', async () => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', 'migrate');
    world.machines.copies.delete('h2/web');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'instance-lost' } });
    expect(world.instance('web')).toMatchObject({ state: 'error', host: 'h2', fault: { code: 'instance-lost' } });
    expect(world.violations).toEqual([]);
  });
});

describe('after the source has handed the instance over', () => {
  test('a-lost-yes: asked again, the source says that it was sent', async () => {
    const world = await withActive();
    world.machines.fail({ task: 'migrate', times: 1, after: true });
    await move(world);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.machines.having('web')).toEqual(['h4']);
  });

  test('activate-fails: only forward, again and again', async () => {
    const world = await withActive();
    world.machines.fail({ task: 'activate', times: 3 });
    const operation = await move(world);
    await world.until(operation, 'web', 'activate');
    await world.tick();
    expect(world.item(operation, 'web')).toMatchObject({
      state: 'waiting',
      reason: { code: 'not-activated', host: 'h4' },
    });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.machines.log.filter((line) => line.startsWith('activate'))).toHaveLength(4);
  });

  test('the-target-loses-its-mapping: the switch waits for it', async () => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', 'switch');
    await world.edit('h4', { physicalNetworks: [] });
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({
      state: 'waiting',
      step: 'switch',
      reason: { code: 'not-bound', host: 'h4', fault: 'mapping-gone' },
    });
    await world.edit('h4', { physicalNetworks: ['phys-seg0'] });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.violations).toEqual([]);
  });

  test('the-back-end-refuses-to-bind: it is asked again under the same serial', async () => {
    const world = await withActive('simulated');
    world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 2 });
    world.network.faults.arm({ op: 'bind', outcome: 'unavailable', times: 1 });
    await move(world);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.addresses('web')).toEqual(['10.0.0.2']);
    expect(world.violations).toEqual([]);
  });

  test.each(['switch', 'activate'])(
    'the-target-is-forced-down-at-%s: in error there, and rebuildable',
    async (step) => {
      const world = await withActive();
      const operation = await move(world);
      await world.until(operation, 'web', step);
      await world.goDown('h4');
      await world.forceDown('h4');
      await world.settle();
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'target-lost' } });
      expect(world.instance('web')).toMatchObject({ state: 'error', host: 'h4', fault: { code: 'target-lost' } });
      expect(world.claim('web')).toMatchObject({ host: 'h4', role: 'home' });
      expect(world.violations).toEqual([]);
    },
  );

  test('the-target-goes-down-at-activate: it waits, and goes on when it is back', async () => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', 'activate');
    await world.goDown('h4');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'waiting', reason: { code: 'target-not-heard' } });
    await world.comeBack('h4');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });

  test('the-source-goes-down-before-it-is-cleaned: the move is over, and the source is swept when it is back', async () => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', 'clean-source');
    await world.goDown('h2');
    await world.settle();
    expect(world.item(operation, 'web')?.state).toBe('done');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.open()).toEqual([expect.stringContaining('host-not-heard')]);
    await world.comeBack('h2');
    await world.settle();
    expect(world.machines.log.at(-1)).toBe('destroy web on h2');
    expect(world.open()).toEqual([]);
  });
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
      const world = await World.of(fixtureF(backEnd));
      for (const name of ['h1', 'h2', 'h3', 'h4', 'h5']) await world.edit(name, { serviceVersion: version });
      await world.create();
      await world.settle();
      const [before] = world.ports('web');
      expect(before?.binding).toMatchObject({ host: 'h2' });
      expect(before?.addresses).toHaveLength(1);
      const operation = await move(world);
      await world.until(operation, 'web', 'activate');
      expect(world.ports('web')[0]?.binding).toBeUndefined();
      await world.settle();
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4', path: { bind: 'host' } });
      expect(world.ports('web')[0]).toMatchObject({ addresses: before?.addresses, binding: { host: 'h4' } });
      expect(world.machines.log).toContain('activate web on h4');
      expect(world.violations).toEqual([]);
    },
  );
});

describe('a delete wins', () => {
  const STEPS = ['schedule', 'prepare', 'migrate', 'switch', 'activate', 'clean-source'];

  test.each(STEPS)('at %s', async (step) => {
    const world = await withActive();
    const operation = await move(world);
    await world.until(operation, 'web', step);
    const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, command));
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'instance-deleted' } });
    expect(world.instance('web')).toBeUndefined();
    expect(world.port('web-p0')).toBeUndefined();
    expect([world.claim('web'), world.claim('web', 'move')]).toEqual([undefined, undefined]);
    expect(world.machines.having('web')).toEqual([]);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});

describe('the deadline', () => {
  async function passed(step: string): Promise<{ world: World; operation: OperationId }> {
    const world = await withActive();
    const operation = await move(world, { deadlineMs: 600_000 });
    await world.until(operation, 'web', step);
    world.clock.now += 700_000;
    await world.pass();
    await world.pass();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
    return { world, operation };
  }

  async function retried({ world, operation }: { world: World; operation: OperationId }): Promise<void> {
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.instance('web')?.fault).toBeUndefined();
    expect(world.machines.having('web')).toEqual(['h4']);
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
    // What was prepared is swept first: until then the host is out of the question.
    await ended.world.settle();
    await retried(ended);
  });

  test.each(['migrate', 'switch', 'activate'])('at-%s: it is moving still, and a retry goes on', async (step) => {
    const ended = await passed(step);
    expect(ended.world.instance('web')).toMatchObject({ state: 'moving', fault: { code: 'deadline-passed' } });
    await retried(ended);
  });

  test('at-clean-source: it has moved, and a sweep does the rest', async () => {
    const ended = await passed('clean-source');
    expect(ended.world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    await retried(ended);
  });

  test('a-retry-after-somebody-else-moved-it: superseded', async () => {
    const { world, operation } = await passed('schedule');
    await move(world);
    await world.settle();
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'move-superseded' } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });
});
