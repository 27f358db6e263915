// Instances whose host is removed by force: active ones, ones that move there, and ones without an open operation.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { endScaleIn, findHost, startScaleIn, type Host } from '../../hosts/index.ts';
import type { Decision } from '../../journal/index.ts';
import {
  ITEM,
  recordStep,
  retryOperation,
  type Item,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { instanceBuild } from '../build/operation.ts';
import { deleteInstances } from './request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { instanceMove } from '../move/operation.ts';
import { HOUR_MS, move, startActive } from '../move/moves-fixture.ts';
import { rebuildInstances } from '../shelve-rebuild/rebuild.ts';
import { EVACUATORS, fixtureF, KINDS } from '../reference-fixture.ts';
import { shelveInstance } from '../shelve-rebuild/shelve.ts';

const commandBase = (world: InstancesWorld) => ({ operation: world.operation(), by: 'ann', nowMs: world.nowMs });

async function start(world: InstancesWorld, host: string): Promise<void> {
  const command = { hosts: [host], drain: true, deadlineMs: 4 * HOUR_MS, ...commandBase(world) };
  await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, command));
}

const hostOf = (world: InstancesWorld, name: string): Host => findHost(world.fleet, name)?.doc as Host;

describe('instances of a host that is removed by force', () => {
  const end = async (world: InstancesWorld, host: string): Promise<void> => {
    const command = { hosts: [host], disconnect: false, force: { reason: 'it burnt down' }, ...commandBase(world) };
    await world.commit((fleet) => endScaleIn(fleet, EVACUATORS, command));
    await world.settle();
  };

  async function removed(): Promise<InstancesWorld> {
    const world = await startActive();
    await world.disconnectHost('h2');
    await start(world, 'h2');
    await world.settle();
    await end(world, 'h2');
    expect(hostOf(world, 'h2').state).toBe('removed');
    return world;
  }

  test('are-in-error-with-a-fault-that-says-so, and keep their ports and addresses', async () => {
    const world = await removed();
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'host-removed' } });
    expect(world.instance('web')?.fault?.message).toContain('Make sure that host is off');
    expect(world.instance('web')).not.toHaveProperty('host');
    expect(world.instance('web')?.fault?.message).toContain('muster instances rebuild web');
    expect(world.claim('web')).toBeUndefined();
    expect(world.ports('web')[0]).not.toHaveProperty('binding');
    expect(world.addresses('web')).toHaveLength(1);
    expect(world.violations).toEqual([]);
  });

  test('can-be-rebuilt', async () => {
    const world = await removed();
    const before = world.addresses('web');
    await world.commit((fleet) =>
      rebuildInstances(fleet, { ids: ['web'], deadlineMs: HOUR_MS, ...commandBase(world) }),
    );
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.addresses('web')).toEqual(before);
    expect(world.violations).toEqual([]);
  });

  test('that-were-moving: the copy at the other end may be the only one, and is held until they are deleted', async () => {
    const world = await startActive();
    await start(world, 'h2');
    await world.pass();
    await world.tick();
    await world.disconnectHost('h2');
    await end(world, 'h2');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'host-removed' } });
    expect(world.claim('web', 'move')).toBeUndefined();
    expect(world.machines.hostsWith('web')).toEqual(['h2', 'h4']);
    expect(world.open()).toEqual([expect.stringContaining('only-copy')]);
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], deadlineMs: HOUR_MS, ...commandBase(world) }));
    await world.settle();
    expect(world.machines.hostsWith('web')).toEqual(['h2']);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test.each(['embedded', 'simulated'] as const)('that-are-handed-over-to-it-have-no-host, on %s', async (backEnd) => {
    const world = await startActive(backEnd);
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    await removeWhileNobodyAnswers(world, 'h4');
    expect(world.item(operation, 'web')).toMatchObject({ step: 'migrate', state: 'running' });
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'target-lost' } });
    expectNowhere(world);
    expect(world.machines.hostsWith('web')).toEqual(['h4']);
    await world.commit((fleet) =>
      rebuildInstances(fleet, { ids: ['web'], deadlineMs: HOUR_MS, ...commandBase(world) }),
    );
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.violations).toEqual([]);
  });

  test.each(['ok', 'pool-empty'])('that-a-back-end-says-%s-of-have-no-host-either', async (outcome) => {
    const world = await startActive('simulated');
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    await removeWhileNobodyAnswers(world, 'h4');
    const at = idOf(ITEM, `${operation}.web`);
    const before = { ...(world.item(operation, 'web') as Item), step: 'bind' };
    await world.put(put(ITEM, at, before));
    const ports = [{ port: 'web-p0', outcome, addresses: [{ ip: '10.0.0.2', subnet: 'sub0' }] }];
    await world.commit((fleet): Decision<unknown> => {
      const item = fleet.get(ITEM, at) as StoredItem;
      const step = instanceMove.observe?.(item, { kind: 'applied', facts: { ports } }, { fleet, nowMs: world.nowMs });
      return recordStep(fleet, step as RecordStep, world.nowMs);
    });
    expectNowhere(world);
    expect(world.violations).toEqual([]);
  });

  test.each(['removed', 'active'] as const)(
    'that-are-between-two-hosts-without-an-open-operation-have-no-claim-there, and go on when it is %s',
    async (state) => {
      const world = await startActive();
      const operation = await move(world);
      await world.runUntilStep(operation, 'web', 'migrate');
      await world.disconnectHost('h2');
      world.clock.now += HOUR_MS;
      await world.pass();
      expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
      await removeWhileNobodyAnswers(world, 'h4');
      expect(world.instance('web')).toMatchObject({ state: 'moving', host: 'h2' });
      expect(world.claim('web', 'move')).toBeUndefined();
      expect(world.violations).toEqual([]);
      await world.reconnectHost('h2');
      await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
      // It may have joined again by then.
      await world.edit('h4', { state });
      await world.settle();
      expectNowhere(world);
    },
  );

  test('that-were-to-be-shelved-until-it-took-too-long-are-in-error-too', async () => {
    const world = await startActive();
    const command = { id: 'web', hasCredentials: true, deadlineMs: HOUR_MS, ...commandBase(world) };
    const { operation } = await world.commit((fleet) => shelveInstance(fleet, command));
    await world.disconnectHost('h2');
    world.clock.now += HOUR_MS;
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
    await removeWhileNobodyAnswers(world, 'h2');
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'host-removed' } });
    expect(world.instance('web')).not.toHaveProperty('host');
    expect(world.claim('web')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('that-are-being-shelved-are-on-the-shelf', async () => {
    const world = await startActive();
    await world.disconnectHost('h2');
    const command = { id: 'web', hasCredentials: true, deadlineMs: HOUR_MS, ...commandBase(world) };
    await world.commit((fleet) => shelveInstance(fleet, command));
    await removeWhileNobodyAnswers(world, 'h2');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'shelved' });
    expect(world.claim('web')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('that-wait-for-their-ports-to-be-plugged-are-built-elsewhere', async () => {
    const world = await InstancesWorld.of(fixtureF('simulated'));
    const operation = await world.create();
    await world.runUntilStep(operation, 'web', 'plug');
    expect(world.instance('web')).toMatchObject({ state: 'building', host: 'h2' });
    await removeWhileNobodyAnswers(world, 'h2');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h3' });
    expect(world.violations).toEqual([]);
  });

  test('never: an instance becomes active on a host that was removed before that is committed', async () => {
    const world = await InstancesWorld.of(fixtureF('simulated'));
    const operation = await world.create();
    await world.runUntilStep(operation, 'web', 'plug');
    await world.tick();
    const item = world.fleet.get(ITEM, idOf(ITEM, `${operation}.web`)) as StoredItem;
    const [next] = instanceBuild.plan(world.fleet, [item], world.nowMs);
    expect(next?.kind).toBe('decide');
    await world.edit('h2', { state: 'removed' });
    const steps = next?.kind === 'decide' ? next.decide(world.fleet, world.nowMs) : [];
    expect(steps).toMatchObject([{ progress: { step: 'unbind' } }]);
  });
});

/** By force, before any task is answered. */
async function removeWhileNobodyAnswers(world: InstancesWorld, host: string): Promise<void> {
  await world.disconnectHost(host);
  const how = { hosts: [host], ...commandBase(world) };
  await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, { ...how, drain: false, deadlineMs: HOUR_MS }));
  const forced = { ...how, ...commandBase(world), disconnect: false, force: { reason: 'it burnt down' } };
  await world.commit((fleet) => endScaleIn(fleet, EVACUATORS, forced));
  for (let pass = 0; pass < 4; pass += 1) await world.pass();
  expect(hostOf(world, host).state).toBe('removed');
}

function expectNowhere(world: InstancesWorld): void {
  expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'target-lost' } });
  expect(world.instance('web')).not.toHaveProperty('host');
  expect([world.claim('web'), world.claim('web', 'move')]).toEqual([undefined, undefined]);
  expect(world.ports('web').filter(({ binding }) => binding !== undefined)).toEqual([]);
}
