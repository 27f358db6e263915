// Moves to hosts where the ports cannot be connected. Before the migration another host is tried; after it the instance runs where it is without them,
// and the move continues from there.
import { describe, expect, test } from 'vitest';
import type { PortOutcome } from '../../network/index.ts';
import { retryOperation } from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { HOUR_MS, move, startActive } from './moves-fixture.ts';
import { fixtureF, KINDS } from '../reference-fixture.ts';

function expectConnected(world: InstancesWorld, host: string): void {
  expect(world.instance('web')).toMatchObject({ state: 'active', host });
  expect(world.instance('web')?.fault).toBeUndefined();
  expect(world.instance('web')?.move).toBeUndefined();
  expect(world.ports('web')[0]?.binding).toMatchObject({ host });
  expect(world.addresses('web')).toEqual(['10.0.0.2']);
  expect(world.claim('web')).toMatchObject({ host, role: 'home', addresses: [] });
  expect(world.claim('web', 'move')).toBeUndefined();
  expect(world.machines.hostsWith('web')).toEqual([host]);
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
}

/** It runs where its ports are not connected, records why its move failed, is shown as degraded, and is reconciled. */
function expectDisconnected(world: InstancesWorld, host: string, fault: string): void {
  const { state, host: at, fault: said } = world.instance('web') ?? {};
  expect({ state, at, isSaid: said !== undefined }).toEqual({ state: 'active', at: host, isSaid: true });
  expect(world.degraded('web')).toEqual(['web-p0: unbound']);
  expect(world.alarm('web')?.reason).toMatchObject({ code: 'instance-degraded', instance: 'web', host });
  expect(world.ports('web')[0]).not.toHaveProperty('binding');
  expect(world.addresses('web')).toEqual(['10.0.0.2']);
  expect(world.claim('web')).toMatchObject({ host, role: 'home', addresses: [] });
  expect(world.claim('web', 'move')).toBeUndefined();
  expect(world.machines.hostsWith('web')).toEqual([host]);
  expect(world.machines.hostsRunning('web')).toEqual([host]);
  expect(world.replug('web')).toMatchObject({
    state: 'waiting',
    step: 'rebind',
    reason: { code: 'not-connected', fault },
  });
  expect(world.open()).toHaveLength(1);
  expect(world.violations).toEqual([]);
}

/** A move to h4 whose ports the back end refuses to connect there, and everywhere else afterwards. */
async function moveDisconnected(
  world: InstancesWorld,
  outcome: PortOutcome,
  facts: Parameters<typeof move>[1] = {},
): Promise<string> {
  world.network.faults.arm({ op: 'activate', outcome, times: 9999 });
  const operation = await move(world, facts);
  await world.runUntilStep(operation, 'web', 'bind');
  world.network.faults.arm({ op: 'bind', outcome, times: 9999 });
  await world.settle();
  return operation;
}

describe('before the source migrates the instance', () => {
  test.each([
    ['loses-its-mapping', (world: InstancesWorld) => world.edit('h4', { physicalNetworks: [] })],
    ['is-forced-down', (world: InstancesWorld) => world.forceDown('h4')],
  ])('a target that %s is replaced by another', async (_name, strike) => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'prepare');
    await strike(world);
    await world.settle();
    expect(world.machines.log.filter((line) => line.startsWith('migrate'))).toEqual(['migrate web on h2']);
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
    await world.reconnectHost('h4');
    await world.settle();
    expectConnected(world, 'h5');
  });
});

describe('after the source has migrated the instance', () => {
  test('the-target-loses-its-mapping: it runs there without its ports, and moves on', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'switch');
    await world.edit('h4', { physicalNetworks: [] });
    await world.runUntilStep(operation, 'web', 'schedule');
    expect(world.machines.hostsRunning('web')).toEqual(['h4']);
    expect(world.instance('web')).toMatchObject({
      state: 'moving',
      host: 'h4',
      move: { from: 'h4', origin: 'h2', tries: [{ host: 'h4', fault: 'mapping-gone' }] },
    });
    await world.settle();
    expectConnected(world, 'h5');
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    // The copy on the first of its hosts is destroyed too, though the move continued from the second.
    expect(world.machines.log).toEqual(expect.arrayContaining(['destroy web on h2', 'destroy web on h4']));
  });

  test.each(['binding-failed', 'mapping-gone', 'address-not-carried'] as const)(
    'the back end answers %s: the next host is tried',
    async (outcome) => {
      const world = await startActive('simulated');
      world.network.faults.arm({ op: 'activate', host: 'h4', outcome, times: 99 });
      const operation = await move(world);
      await world.settle();
      expectConnected(world, 'h5');
      expect(world.network.port('web-p0')?.binding).toMatchObject({ host: 'h5' });
      expect(world.operationDoc(operation)?.state).toBe('succeeded');
    },
  );

  test('its-pool-is-empty: no other host of that pool is tried, and no other pool carries its address', async () => {
    const world = await startActive('simulated');
    await moveDisconnected(world, 'pool-empty');
    expectDisconnected(world, 'h4', 'pool-empty');
  });

  test.each(['binding-failed', 'taken', 'unavailable'] as const)(
    'the back end answers %s wherever it is asked: it ends where it is, and a later move works',
    async (outcome) => {
      const world = await startActive('simulated');
      const operation = await moveDisconnected(world, outcome);
      const code = outcome === 'unavailable' ? 'back-end-unavailable' : outcome;
      expectDisconnected(world, 'h4', code);
      const { state, reason } = world.item(operation, 'web') ?? {};
      expect({ state, code: reason?.code }).toEqual({ state: 'failed', code });
      expect(reason?.['message']).toContain(
        'The instance runs on host h4, but is not fully connected there: port web-p0 (NIC 0, network n) is not bound to its host.',
      );
      world.network.faults.disarm();
      await move(world);
      await world.settle();
      expectConnected(world, 'h2');
    },
  );

  test('a-named-target: it ends there, and a retry of the operation has nowhere else to go', async () => {
    const world = await startActive('simulated');
    const operation = await moveDisconnected(world, 'binding-failed', { target: 'h4' });
    expectDisconnected(world, 'h4', 'binding-failed');
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expectDisconnected(world, 'h4', 'binding-failed');
    world.network.faults.disarm();
    await move(world, { target: 'h2' });
    await world.settle();
    expectConnected(world, 'h2');
  });

  test('a-later-move-that-finds-no-host-still-says-that-the-ports-are-not-connected', async () => {
    const world = await startActive('simulated');
    await moveDisconnected(world, 'binding-failed');
    for (const host of ['h2', 'h5']) await world.edit(host, { disabled: { reason: 'x', by: 'x', atMs: 0 } });
    const operation = await move(world);
    await world.settle();
    expectDisconnected(world, 'h4', 'binding-failed');
    expect(world.item(operation, 'web')?.reason?.['message']).toContain('is not fully connected there: port web-p0');
  });

  test('the-server-dies-at-each-step-of-going-on', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', host: 'h4', outcome: 'binding-failed', times: 99 });
    const operation = await move(world);
    for (const step of ['bind', 'activate', 'schedule', 'prepare', 'migrate', 'bind', 'clean-source']) {
      await world.runUntilStep(operation, 'web', step);
      await world.restart();
    }
    await world.settle();
    expectConnected(world, 'h5');
  });

  test.each(['activate', 'schedule', 'prepare'])('a delete at %s wins, and leaves nothing', async (step) => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', host: 'h4', outcome: 'binding-failed', times: 99 });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'bind');
    await world.runUntilStep(operation, 'web', step);
    const command = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
    await world.settle();
    expect(world.instance('web')).toBeUndefined();
    expect(world.port('web-p0')).toBeUndefined();
    expect(world.machines.hostsWith('web')).toEqual([]);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('the-host-that-cannot-connect-it-is-forced-down: in error there, and rebuildable', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', host: 'h4', outcome: 'binding-failed', times: 99 });
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'activate');
    await world.disconnectHost('h4');
    await world.forceDown('h4');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'error', host: 'h4', fault: { code: 'target-lost' } });
    expect(world.violations).toEqual([]);
  });

  test('the-deadline-passes-while-it-is-cut-off: it says so, and a retry goes on', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', host: 'h4', outcome: 'binding-failed', times: 99 });
    const operation = await move(world, { deadlineMs: 600_000 });
    await world.runUntilStep(operation, 'web', 'bind');
    await world.runUntilStep(operation, 'web', 'activate');
    world.clock.now += 700_000;
    await world.pass();
    await world.pass();
    expect(world.instance('web')).toMatchObject({ state: 'moving', host: 'h4', fault: { code: 'deadline-passed' } });
    expect(world.instance('web')?.fault?.message).toContain('nor would it be connected: port web-p0');
    await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
    await world.settle();
    expectConnected(world, 'h5');
  });
});

test.each(['embedded', 'simulated'] as const)(
  'an older host that cannot bind on %s runs it without its ports, and it moves on',
  async (backEnd) => {
    const world = await InstancesWorld.of(fixtureF(backEnd));
    for (const name of ['h1', 'h2', 'h3', 'h4', 'h5']) await world.edit(name, { serviceVersion: 1 });
    await world.create();
    await world.settle();
    world.machines.fail({ task: 'activate', host: 'h4', times: 1, fault: 'binding-failed' });
    const operation = await move(world);
    await world.settle();
    expectConnected(world, 'h5');
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
  },
);

describe('a source that dies during the migration', () => {
  test('the-target-received-it: it lives there', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    world.machines.perform('h2', { kind: 'migrate', args: { instance: 'web', target: 'h4' } });
    await world.disconnectHost('h2');
    await world.forceDown('h2');
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.machines.log).not.toContain('destroy web on h4');
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    await world.reconnectHost('h2');
    await world.settle();
    expectConnected(world, 'h4');
  });

  test('the-target-is-silent: it waits, and asks when it is back', async () => {
    const world = await startActive('simulated');
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    world.machines.perform('h2', { kind: 'migrate', args: { instance: 'web', target: 'h4' } });
    for (const host of ['h2', 'h4']) await world.disconnectHost(host);
    await world.forceDown('h2');
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({
      state: 'waiting',
      step: 'query-target',
      reason: { code: 'migration-outcome-unknown', host: 'h4' },
    });
    for (const host of ['h2', 'h4']) await world.reconnectHost(host);
    await world.settle();
    expectConnected(world, 'h4');
  });

  test('the-target-dies-too: source-lost, and rebuildable', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    for (const host of ['h2', 'h4']) await world.disconnectHost(host);
    for (const host of ['h2', 'h4']) await world.forceDown(host);
    await world.settle();
    // Whether it had been migrated is unknown.
    const message =
      'Host h2 was forced down while it migrated the instance, and host h4, which may have received it, was forced down as well. Build it elsewhere with "muster instances rebuild web".';
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'source-lost', message } });
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'source-lost' } });
    expect(world.violations).toEqual([]);
  });

  test('a-delete-while-the-target-is-asked-leaves-nothing', async () => {
    const world = await startActive();
    const operation = await move(world);
    await world.runUntilStep(operation, 'web', 'migrate');
    await world.disconnectHost('h2');
    await world.forceDown('h2');
    await world.runUntilStep(operation, 'web', 'query-target');
    const command = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
    await world.reconnectHost('h2');
    await world.settle();
    expect(world.instance('web')).toBeUndefined();
    expect(world.machines.hostsWith('web')).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});
