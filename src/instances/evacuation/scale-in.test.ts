// Instances on leaving hosts: they move live within the limits of their groups, are rebuilt elsewhere when their host is certainly off, and wait with
// growing backoff after a failure.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { clearForceDown, endScaleIn, findHost, startScaleIn, type Host } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { explainer, OPERATION, retryOperation } from '../../operations/index.ts';
import { beginHold } from '../delete/clean.ts';
import { deleteInstances } from '../delete/request.ts';
import { backoffAfterFailure } from './pacing.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { GROUP, INSTANCE, RELOCATING_INSTANCES_BY_GROUP, type Instance } from '../model.ts';
import { moveInstances } from '../move/move.ts';
import { instanceSentences } from '../sentences.ts';
import { rebuildInstances } from '../shelve-rebuild/rebuild.ts';
import { EVACUATORS, KINDS } from '../reference-fixture.ts';

const HOUR_MS = 3_600_000;

const explain = explainer([instanceSentences]);

const commandBase = (world: InstancesWorld) => ({ operation: world.operation(), by: 'ann', nowMs: world.nowMs });

async function start(world: InstancesWorld, ...hosts: readonly string[]): Promise<string> {
  const command = { hosts, drain: true, deadlineMs: 4 * HOUR_MS, ...commandBase(world) };
  return (await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, command))).operation ?? '';
}

const hostOf = (world: InstancesWorld, name: string): Host => findHost(world.fleet, name)?.doc as Host;

async function startSome(count: number, facts: { readonly limit?: number } = {}): Promise<InstancesWorld> {
  const world = await InstancesWorld.of();
  const { limit } = facts;
  const policy = 'soft-affinity' as const;
  const group = { name: 'kin', project: 'default', policy, changedBy: 'x', changedAtMs: 0 };
  const doc = { ...group, ...(limit !== undefined && { movesAtOnce: limit }) };
  await world.commit(() => accept([put(GROUP, idOf(GROUP, 'kin'), doc)], null));
  await world.create({ count, place: { group: 'kin' } });
  await world.settle();
  return world;
}

describe('instances of a leaving host', () => {
  test('move-live, and nothing of them is left there', async () => {
    const world = await startSome(3);
    const before = world.addresses('web-1');
    const operation = await start(world, 'h2');
    await world.settle();
    expect(['web-1', 'web-2', 'web-3'].map((id) => world.instance(id)?.host)).toEqual(['h4', 'h4', 'h4']);
    expect(world.machines.hostsWith('web-1')).toEqual(['h4']);
    expect(world.addresses('web-1')).toEqual(before);
    expect(hostOf(world, 'h2').state).toBe('drained');
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('whose-move-failed-in-the-middle-are-named, count against no budget, and leave when it is retried', async () => {
    const world = await startSome(4);
    const ids = ['web-1', 'web-2', 'web-3'];
    const move = { ids, kind: 'live' as const, ...commandBase(world), deadlineMs: 60_000 };
    await world.commit((fleet) => moveInstances(fleet, move));
    for (const id of ids) await world.runUntilStep(move.operation, id, 'migrate');
    await world.disconnectHost('h2');
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expect(ids.map((id) => world.instance(id)?.state)).toEqual(['moving', 'moving', 'moving']);
    await world.reconnectHost('h2');
    const operation = await start(world, 'h2');
    await world.settle();
    expect(world.instance('web-4')?.host).toBe('h4');
    expect(world.item(operation, 'h2')?.reason).toEqual({
      code: 'left-unfinished',
      instance: 'web-1',
      state: 'moving',
      operation: move.operation,
    });
    await world.commit((fleet) => retryOperation(fleet, { id: move.operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expect(world.machines.hostsWith('web-1')).toEqual(['h4']);
    expect(hostOf(world, 'h2').state).toBe('drained');
  });

  test('no-more-of-a-group-than-its-limit, and the others wait for group-limit', async () => {
    const world = await startSome(4, { limit: 2 });
    const operation = await start(world, 'h2');
    let most = 0;
    let said = false;
    for (let tick = 0; tick < 30; tick += 1) {
      await world.tick();
      most = Math.max(most, world.fleet.countOf(RELOCATING_INSTANCES_BY_GROUP, 'kin'));
      said ||= world.item(operation, 'h2')?.reason?.code === 'group-limit';
    }
    expect(most).toBe(2);
    expect(said).toBe(true);
    expect(hostOf(world, 'h2').state).toBe('drained');
    expect(world.violations).toEqual([]);
  });

  test('the-limit-counts-over-hosts, and moves by others count too', async () => {
    const world = await startSome(2, { limit: 1 });
    await world.commit((fleet) =>
      moveInstances(fleet, { ids: ['web-1'], kind: 'live', deadlineMs: HOUR_MS, ...commandBase(world) }),
    );
    const operation = await start(world, 'h2');
    await world.pass();
    await world.pass();
    expect(world.instance('web-2')?.state).toBe('active');
    expect(world.item(operation, 'h2')?.reason).toMatchObject({ code: 'group-limit', group: 'kin', limit: 1 });
    await world.settle();
    expect(hostOf(world, 'h2').state).toBe('drained');
  });

  test('without-a-limit-all-of-them-go-that-the-budgets-allow', async () => {
    const world = await startSome(4);
    await start(world, 'h2');
    await world.pass();
    expect(world.fleet.countOf(RELOCATING_INSTANCES_BY_GROUP, 'kin')).toBe(4);
  });

  test('one-whose-move-fails-is-tried-again-after-pauses-that-grow', async () => {
    const world = await startSome(2);
    world.machines.fail({ task: 'prepare', instance: 'web-1', times: 1000 });
    const operation = await start(world, 'h2');
    const { nowMs } = world;
    const moves = new Set<string>();
    for (let tick = 0; tick < 360; tick += 1) {
      await world.tick();
      moves.add(world.instance('web-1')?.move?.operation ?? '');
    }
    // Half an hour: as many tries as doubling backoffs fit into it, not one per pass.
    expect(world.nowMs - nowMs).toBe(1_800_000);
    expect(moves.size).toBeGreaterThan(4);
    expect(moves.size).toBeLessThan(12);
    expect(world.item(operation, 'h2')?.reason).toMatchObject({ code: 'move-failed', instance: 'web-1' });
    expect(world.instance('web-2')?.host).toBe('h4');
    expect(world.violations).toEqual([]);
  });

  test('one-whose-rebuild-fails-is-tried-again-after-pauses-that-grow', async () => {
    const world = await startSome(1);
    world.machines.fail({ task: 'build', instance: 'web', times: 1000 });
    await world.disconnectHost('h2');
    await world.forceDown('h2');
    const operation = await start(world, 'h2');
    const { nowMs } = world;
    const rebuilds = (): number =>
      [...world.fleet.all(OPERATION)].filter(({ doc }) => doc.kind === 'instance-rebuild').length;
    for (let tick = 0; tick < 360; tick += 1) await world.tick();
    expect(world.nowMs - nowMs).toBe(1_800_000);
    expect(rebuilds()).toBeGreaterThan(4);
    expect(rebuilds()).toBeLessThan(12);
    expect(world.item(operation, 'h2')?.reason).toMatchObject({ code: 'rebuild-failed', instance: 'web' });
    expect(world.instance('web')?.state).toBe('error');
    // The host's copy may be the only one: it lives there, and the host is not empty.
    expect(hostOf(world, 'h2').state).toBe('draining');
    expect(world.violations).toEqual([]);
  });

  test.each(['forced down', 'back'])(
    'a-host-that-is-%s-has-the-only-copy-of-one-without-a-host: it does not leave before the instance is deleted or runs',
    async (how) => {
      const world = await startSome(1);
      world.machines.fail({ task: 'build', instance: 'web', times: 3 });
      await world.disconnectHost('h2');
      await world.forceDown('h2');
      const rebuild = { ids: ['web'], deadlineMs: HOUR_MS, ...commandBase(world) };
      await world.commit((fleet) => rebuildInstances(fleet, rebuild));
      await world.settle();
      expect(world.instance('web')).toMatchObject({ state: 'error' });
      world.machines.fail({ task: 'build', instance: 'web', times: 1000 });
      if (how === 'back') await world.reconnectHost('h2');
      const operation = await start(world, 'h2');
      for (let tick = 0; tick < 20; tick += 1) await world.tick();
      const { reason } = world.item(operation, 'h2') ?? {};
      expect(reason).toMatchObject({ code: how === 'back' ? 'only-copy' : 'rebuild-failed', instance: 'web' });
      const end = { hosts: ['h2'], disconnect: true, ...commandBase(world) };
      const verdict = endScaleIn(world.fleet, EVACUATORS, end);
      const blockers = [{ code: 'lives-here', host: 'h2', kind: 'instance', tenant: 'web' }];
      const hosts = [{ result: 'blocked', blockers }];
      expect(verdict).toMatchObject({ kind: 'refuse', refusal: { facts: { hosts } } });
      await world.commit((fleet) =>
        deleteInstances(fleet, { ids: ['web'], deadlineMs: HOUR_MS, ...commandBase(world) }),
      );
      await world.settle();
      expect(hostOf(world, 'h2').state).toBe('drained');
      expect(world.violations).toEqual([]);
    },
  );

  test('a-copy-beside-a-host-that-may-have-it-too: the reason names both, and what it says to do empties the host', async () => {
    const world = await startSome(1);
    const [home, copyHost] = [world.instance('web')?.host ?? '', 'h4'];
    world.machines.copies.set(`${copyHost}/web`, 'running');
    await world.put(...beginHold({ instance: 'web', host: copyHost, home, key: 'k', nowMs: world.nowMs }));
    const operation = await start(world, copyHost);
    await world.settle();
    const { reason } = world.item(operation, copyHost) ?? {};
    expect(reason).toMatchObject({ code: 'only-copy', instance: 'web', host: copyHost, home });
    expect(reason && explain(reason)).toContain('"muster instances move web"');
    await world.commit((fleet) =>
      moveInstances(fleet, { ids: ['web'], kind: 'live', deadlineMs: HOUR_MS, ...commandBase(world) }),
    );
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active' });
    expect(world.instance('web')?.host).not.toBe(home);
    expect(world.machines.hostsWith('web')).toEqual([world.instance('web')?.host]);
    expect(hostOf(world, copyHost).state).toBe('drained');
    expect(world.violations).toEqual([]);
  });

  test('a-rebuild-does-not-wait-because-a-move-failed-before-the-host-was-operator-fenced', async () => {
    const world = await startSome(1);
    world.machines.fail({ task: 'prepare', instance: 'web', times: 1000 });
    const operation = await start(world, 'h2');
    for (let tick = 0; tick < 60; tick += 1) await world.tick();
    expect(world.item(operation, 'h2')?.reason).toMatchObject({ code: 'move-failed' });
    await world.disconnectHost('h2');
    await world.forceDown('h2');
    await world.tick();
    await world.tick();
    expect(world.instance('web')?.host).not.toBe('h2');
  });

  test.each([
    [0, 10_000],
    [5_000, 10_000],
    [60_000, 60_000],
    [3_600_000, 600_000],
  ])('a-pause-is-as-long-as-the-host-was-leaving: failed after %i ms, %i ms', async (afterMs, pauseMs) => {
    const world = await startSome(1);
    const { nowMs } = world;
    await start(world, 'h2');
    const atMs = nowMs + afterMs;
    const fault = { code: 'no-valid-host', message: 'No host fits.', atMs };
    const move: Instance['move'] = { operation: 'x', kind: 'live', from: 'h2', tries: [] };
    const doc = { ...(world.instance('web') as Instance), fault, move };
    const stored = { id: idOf(INSTANCE, 'web'), revision: 1, doc };
    const at = (ms: number) => backoffAfterFailure(world.fleet, stored, 'h2', ms);
    expect(at(atMs + pauseMs - 1)).toMatchObject({ code: 'move-failed', untilMs: atMs + pauseMs });
    expect(at(atMs + pauseMs)).toBeUndefined();
  });

  test('are-built-elsewhere-with-the-same-ports-once-the-host-is-forced-down, and the host is not trusted when it returns', async () => {
    const world = await startSome(2);
    const before = world.addresses('web-1');
    await world.disconnectHost('h2');
    const operation = await start(world, 'h2');
    await world.settle();
    expect(world.item(operation, 'h2')?.reason).toEqual({ code: 'host-down', host: 'h2' });
    await world.forceDown('h2');
    await world.settle();
    expect(world.instance('web-1')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.addresses('web-1')).toEqual(before);
    expect(hostOf(world, 'h2')).toMatchObject({ state: 'drained', leaving: { rebuilt: true } });
    await world.edit('h2', { quarantined: { because: 'operator-fenced', atMs: 0 } });
    await world.reconnectHost('h2');
    await world.settle();
    // Its copies are swept, and nothing new is placed there.
    expect(world.machines.hostsWith('web-1')).toEqual(['h4']);
    expect(world.violations).toEqual([]);
  });

  test('nothing-is-placed-on-a-quarantined-host', async () => {
    const world = await startSome(1);
    await world.edit('h4', { quarantined: { because: 'identity', atMs: 0 } });
    await start(world, 'h2');
    await world.settle();
    expect(world.instance('web')?.host).toBe('h5');
  });
});

test('a-host-that-leaves-undrained-is-not-trusted-once-its-instances-are-rebuilt', async () => {
  const world = await startSome(2);
  await world.disconnectHost('h2');
  await world.forceDown('h2');
  const command = { hosts: ['h2'], drain: false, deadlineMs: HOUR_MS, ...commandBase(world) };
  await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, command));
  const ids = ['web-1', 'web-2'];
  await world.commit((fleet) => rebuildInstances(fleet, { ids, deadlineMs: HOUR_MS, ...commandBase(world) }));
  expect(hostOf(world, 'h2').leaving).toMatchObject({ rebuilt: true });
  await world.commit((fleet) => clearForceDown(fleet, { id: 'h2', by: 'ann', nowMs: world.nowMs }));
  expect(hostOf(world, 'h2').quarantined).toMatchObject({ because: 'operator-fenced' });
});
