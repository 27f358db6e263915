// Rebuilding instances elsewhere when their host is dead: what is refused, where they are placed, and what happens to the old copy.
import { describe, expect, test } from 'vitest';
import { idOf, put, type FleetReader } from '../../fleet/index.ts';
import { accept, type Decision } from '../../journal/index.ts';
import { PORTS_BY_HOST } from '../../network/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { GROUP } from '../model.ts';
import { move } from '../move/moves-fixture.ts';
import { renderPlan } from '../plan-fixture.ts';
import { rebuildInstances } from './rebuild.ts';
import { fixtureF } from '../reference-fixture.ts';

const HOUR_MS = 3_600_000;

async function startActive(backEnd: Parameters<typeof fixtureF>[0] = 'embedded'): Promise<InstancesWorld> {
  const world = await InstancesWorld.of(fixtureF(backEnd));
  await world.create();
  await world.settle();
  return world;
}

function decideRebuild(world: InstancesWorld, ids: readonly string[] = ['web'], deadlineMs = HOUR_MS) {
  const command = { ids, operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs };
  return (fleet: FleetReader): Decision<{ readonly operation: OperationId }> => rebuildInstances(fleet, command);
}

async function loseHost(world: InstancesWorld, host = 'h2'): Promise<void> {
  await world.disconnectHost(host);
  await world.forceDown(host);
}

describe('a rebuild is refused and changes nothing', () => {
  test('unknown-instance', async () => {
    const world = await startActive();
    expect(await world.refusal(decideRebuild(world, ['nobody']))).toMatchObject({ code: 'unknown-instance' });
  });

  test('host-not-confirmed-down: down is not dead, and the sentence says what to do', async () => {
    const world = await startActive();
    await world.disconnectHost('h2');
    const before = world.fleet.revision;
    const refusal = await world.refusal(decideRebuild(world));
    expect(refusal).toMatchObject({ code: 'host-not-confirmed-down', facts: { host: 'h2' } });
    expect(refusal.message).toContain('muster hosts force-down h2');
    expect(world.fleet.revision).toBe(before);
  });

  test('not-rebuildable: an instance that never ran, and one that is being built', async () => {
    const world = await InstancesWorld.of();
    await world.create();
    expect(await world.refusal(decideRebuild(world))).toMatchObject({
      code: 'not-rebuildable',
      message:
        'Instance "web" cannot be rebuilt: it is building, and only active instances and those in error can be. Wait until its operation has ended; "muster instances show web" shows how far it is.',
      facts: { state: 'building' },
    });
    world.machines.fail({ task: 'build', times: 9, fault: 'bad-image' });
    await world.settle();
    expect(world.instance('web')?.state).toBe('error');
    expect(await world.refusal(decideRebuild(world))).toMatchObject({
      code: 'not-rebuildable',
      message:
        'Instance "web" cannot be rebuilt: it never ran, so there is nothing to bring back. Delete it, and create it again.',
      facts: { wasActive: false },
    });
  });

  test('being-deleted', async () => {
    const world = await startActive();
    await loseHost(world);
    const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, command));
    expect(await world.refusal(decideRebuild(world))).toMatchObject({ code: 'being-deleted' });
  });
});

test.each(['embedded', 'simulated', 'host-local'] as const)(
  'scheduling-5-evacuate on %s: force-down of h2, then h4 with the same addresses',
  async (backEnd) => {
    const world = await startActive(backEnd);
    const [before] = world.ports('web');
    await loseHost(world);
    const { operation } = await world.commit(decideRebuild(world));
    expect(world.instance('web')).toMatchObject({ state: 'rebuilding', host: 'h2', attempts: [] });
    await world.settle();
    const [after] = world.ports('web');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(after).toMatchObject({ addresses: before?.addresses, mac: before?.mac, binding: { host: 'h4' } });
    expect(after?.serial).toBeGreaterThan(before?.serial ?? 0);
    expect(world.claim('web')).toMatchObject({ host: 'h4' });
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    // The old copy waits for its host, and is destroyed before anything else happens there.
    expect(world.machines.hostsWith('web')).toEqual(['h2', 'h4']);
    expect(world.open()).toEqual([expect.stringContaining('host-not-connected')]);
    await world.reconnectHost('h2');
    await world.settle();
    expect(world.machines.hostsWith('web')).toEqual(['h4']);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  },
);

test.each([
  [2, 'embedded'],
  [2, 'simulated'],
  [1, 'host-local'],
  [5, 'simulated'],
] as const)(
  'a-port-is-not-connected-at-the-dead-host-once-room-is-elsewhere: version %i, %s',
  async (version, backEnd) => {
    const world = await InstancesWorld.of(fixtureF(backEnd));
    for (const name of ['h1', 'h2', 'h3', 'h4', 'h5']) await world.edit(name, { serviceVersion: version });
    await world.create();
    await world.settle();
    const before = world.addresses('web');
    expect(world.ports('web')[0]?.binding?.host).toBe('h2');
    await loseHost(world);
    const { operation } = await world.commit(decideRebuild(world));
    await world.runUntilStep(operation, 'web', version < 5 ? 'build' : 'bind');
    expect(world.claim('web')?.host).toBe('h4');
    expect([...world.fleet.find(PORTS_BY_HOST, 'h2')]).toEqual([]);
    expect(world.addresses('web')).toEqual(before);
    await world.settle();
    expect(world.ports('web')[0]?.binding?.host).toBe('h4');
    expect(world.addresses('web')).toEqual(before);
    expect(world.violations).toEqual([]);
  },
);

test('the-plan-of-each-step', async () => {
  const world = await startActive();
  await loseHost(world);
  const { operation } = await world.commit(decideRebuild(world));
  const lines: string[] = [];
  for (const step of ['schedule', 'build']) {
    await world.runUntilStep(operation, 'web', step);
    lines.push([step, ...renderPlan(world, operation, 'web')].join('\n  '));
  }
  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "schedule
      decide: running build at h4; instance web (rebuilding, h4), claim web (home, h4), port web-p0 (made)
    build
      task for h4: build {"instance":"web","vcpus":1,"memoryMiB":512,"diskGiB":1,"network":"ready","nics":[{"port":"web-p0","nic":0,"network":"n","backEnd":"embedded","mac":"02:00:00:00:10:00","addresses":["10.0.0.2"],"serial":2,"segment":"seg0","type":"ovs","createdBy":"muster","pool":"segment:seg0"}]}"
  `);
});

test('until-the-old-host-is-swept-nothing-of-that-name-goes-there, though-it-is-back', async () => {
  const world = await startActive();
  await loseHost(world);
  await world.commit(decideRebuild(world));
  await world.settle();
  world.machines.fail({ task: 'destroy', host: 'h2', times: 1 });
  await world.reconnectHost('h2');
  await world.tick();
  await move(world, { target: 'h2' });
  await world.tick();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4', fault: { code: 'no-valid-host' } });
  while (world.open().length > 0) await world.tick();
  await move(world, { target: 'h2' });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
});

test('never: what a move that was cut short has at its target is destroyed before the successor runs', async () => {
  const world = await startActive();
  const operation = await move(world, { deadlineMs: 60_000 });
  await world.runUntilStep(operation, 'web', 'migrate');
  await world.disconnectHost('h2');
  world.clock.now += 60_001;
  await world.settle();
  expect(world.instance('web')?.state).toBe('moving');
  await world.forceDown('h2');
  await world.commit(decideRebuild(world));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
  const [built, destroyed] = ['build web on h5', 'destroy web on h4'].map((line) => world.machines.log.indexOf(line));
  expect(built).toBeGreaterThan(-1);
  expect(destroyed).toBeGreaterThan(built ?? 0);
});

test('a-build-that-fails: the next host, and the one that failed is swept', async () => {
  const world = await startActive();
  await loseHost(world);
  world.machines.fail({ task: 'build', host: 'h4', times: 1, after: true });
  await world.commit(decideRebuild(world));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
  expect(world.instance('web')?.attempts).toMatchObject([{ host: 'h4', fault: 'spawn-failed' }, { host: 'h5' }]);
  expect(world.machines.hostsWith('web')).toEqual(['h2', 'h5']);
  expect(world.violations).toEqual([]);
});

test('the-new-host-dies-too: the next one', async () => {
  const world = await startActive();
  await loseHost(world);
  const { operation } = await world.commit(decideRebuild(world));
  await world.runUntilStep(operation, 'web', 'build');
  await loseHost(world, 'h4');
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
  expect(world.violations).toEqual([]);
});

describe('no host fits', () => {
  test.each(['embedded', 'simulated'] as const)(
    'on %s: it stays as it was and says why, and a second try may succeed',
    async (backEnd) => {
      const world = await startActive(backEnd);
      const [before] = world.ports('web');
      for (const host of ['h2', 'h4', 'h5']) await loseHost(world, host);
      const { operation } = await world.commit(decideRebuild(world));
      await world.settle();
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'no-valid-host' } });
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
      expect(world.instance('web')?.fault?.message).toMatch(
        /^It stays on host h2, and its copy there is kept; "muster instances rebuild web" tries again\. No host fits\./,
      );
      expect(world.instance('web')?.fault?.report?.hosts).toBe(5);
      expect(world.instance('web')?.rebuiltFrom).toBeUndefined();
      expect(world.claim('web')?.host).toBe('h2');
      expect(world.ports('web')[0]).toMatchObject({ addresses: before?.addresses, binding: before?.binding });
      await world.reconnectHost('h4');
      await world.commit(decideRebuild(world));
      await world.settle();
      expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
      expect(world.instance('web')?.fault).toBeUndefined();
      expect(world.ports('web')[0]?.addresses).toEqual(before?.addresses);
      expect(world.violations).toEqual([]);
    },
  );

  test('tries-used-up: in error, nothing is left anywhere but at the dead host', async () => {
    const world = await startActive();
    await loseHost(world);
    world.machines.fail({ task: 'build', times: 9, after: true });
    await world.commit(decideRebuild(world));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
    expect(world.instance('web')?.fault?.message).toMatch(
      /^It has no host, and keeps its ports and addresses; "muster instances rebuild web" tries again\. /,
    );
    expect(world.instance('web')?.nics).toHaveLength(1);
    expect(world.machines.hostsWith('web')).toEqual(['h2']);
    expect(world.violations).toEqual([]);
  });

  test('the-deadline-passes-while-it-builds: in error, its last host is swept, and it can be tried again', async () => {
    const world = await startActive();
    await loseHost(world);
    const { operation } = await world.commit(decideRebuild(world, ['web'], 600_000));
    await world.runUntilStep(operation, 'web', 'build');
    world.machines.perform('h4', { kind: 'build', args: { instance: 'web' } });
    world.clock.now += 700_000;
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'deadline-passed' } });
    expect(world.machines.hostsWith('web')).toEqual(['h2']);
    await world.commit(decideRebuild(world));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.violations).toEqual([]);
  });
});

describe('nothing is destroyed before a successor runs, also where the host that was forced down is connected', () => {
  test('no-place: the copy stays, and the instance is in service again once the host is not forced down', async () => {
    const world = await startActive();
    for (const host of ['h4', 'h5']) await loseHost(world, host);
    await world.forceDown('h2');
    await world.commit(decideRebuild(world));
    await world.settle();
    expect(world.machines.hostsRunning('web')).toEqual(['h2']);
    expect(world.machines.log.filter((line) => line.startsWith('destroy'))).toEqual([]);
    // Nothing holds the copy that is the instance itself.
    expect(world.open()).toEqual([]);
    await world.reconnectHost('h2');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.machines.hostsRunning('web')).toEqual(['h2']);
    expect(world.violations).toEqual([]);
  });

  test('tries-used-up: the copy is held until a later rebuild runs', async () => {
    const world = await startActive();
    await world.forceDown('h2');
    world.machines.fail({ task: 'build', times: 2, after: true });
    await world.commit(decideRebuild(world));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
    expect(world.machines.hostsWith('web')).toEqual(['h2']);
    expect(world.open()).toEqual([expect.stringContaining('only-copy')]);
    await world.commit(decideRebuild(world));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.machines.hostsWith('web')).toEqual(['h4']);
    expect(world.machines.log.slice(-2)).toEqual(['build web on h4', 'destroy web on h2']);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('tries-used-up and deleted: the user gives it up, and the copy is destroyed', async () => {
    const world = await startActive();
    await world.forceDown('h2');
    world.machines.fail({ task: 'build', times: 2, after: true });
    await world.commit(decideRebuild(world));
    await world.settle();
    const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, command));
    await world.settle();
    expect(world.machines.hostsWith('web')).toEqual([]);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});

test('its-own-place-in-an-affinity-group-does-not-hold-it-at-the-dead-host', async () => {
  const world = await InstancesWorld.of();
  const group = { name: 'near', project: 'default', policy: 'affinity' as const, changedBy: 'x', changedAtMs: 0 };
  await world.commit(() => accept([put(GROUP, idOf(GROUP, 'near'), group)], null));
  await world.create({ place: { group: 'near' } });
  await world.settle();
  await loseHost(world);
  await world.commit(decideRebuild(world));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
});

test.each(['schedule', 'build'])('a-delete-wins-at-%s', async (step) => {
  const world = await startActive();
  await loseHost(world);
  const { operation } = await world.commit(decideRebuild(world));
  await world.runUntilStep(operation, 'web', step);
  const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => deleteInstances(fleet, command));
  await world.settle();
  expect(world.instance('web')).toBeUndefined();
  expect(world.port('web-p0')).toBeUndefined();
  expect(world.claim('web')).toBeUndefined();
  await world.reconnectHost('h2');
  await world.settle();
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
});
