// Instances that run without being connected: shown as degraded, with an alarm, connected again with growing backoff, and not counted as moved by a
// drain. Other operations on them work as on any instance.
import { describe, expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { clearForceDown, findHost, forceDownHost, startScaleIn } from '../../hosts/index.ts';
import { recordNetworkEvents, type NetworkEventReport } from '../../network/index.ts';
import type { RecordStep } from '../../operations/index.ts';
import { openReplugItem } from './degraded.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE } from '../model.ts';
import { HOUR_MS, move, startActive } from '../move/moves-fixture.ts';
import { EVACUATORS, fixtureF } from '../reference-fixture.ts';
import { instanceReplug } from './replug.ts';
import { shelveInstance } from '../shelve-rebuild/shelve.ts';
import { instanceToJsonText } from '../representations.ts';

/** The back end reports an event of the port's present binding. */
async function recordEvent(world: InstancesWorld, name: NetworkEventReport['name']): Promise<void> {
  const serial = world.port('web-p0')?.binding?.serial ?? 0;
  const events = [{ port: 'web-p0', name, serial }];
  await world.commit((fleet) => recordNetworkEvents(fleet, { events, nowMs: world.nowMs }));
}

interface DegradedJson {
  readonly state: string;
  readonly degraded?: { readonly message: string; readonly lastTry?: string; readonly operation?: string };
}

function readInstance(world: InstancesWorld): DegradedJson {
  return JSON.parse(instanceToJsonText(world.fleet.get(INSTANCE, idOf(INSTANCE, 'web'))!, world.fleet)) as DegradedJson;
}

/** It is unplugged, and the back end no longer binds it. */
async function startUnplugged(): Promise<InstancesWorld> {
  const world = await startActive('simulated');
  world.network.faults.arm({ op: 'bind', host: 'h2', outcome: 'binding-failed', times: 9999 });
  await recordEvent(world, 'unplugged');
  await world.settle();
  return world;
}

const commandBase = (world: InstancesWorld) => ({
  operation: world.operation(),
  by: 'ann',
  nowMs: world.nowMs,
  deadlineMs: HOUR_MS,
});

function expectConnected(world: InstancesWorld, host: string): void {
  expect(world.instance('web')).toMatchObject({ state: 'active', host });
  expect(world.degraded('web')).toEqual([]);
  expect(world.alarm('web')).toBeUndefined();
  expect(readInstance(world)).not.toHaveProperty('degraded');
  expect(world.network.port('web-p0')?.binding).toMatchObject({ host, type: 'simulated' });
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
}

describe('an instance whose port is unplugged', () => {
  test('is-shown-as-degraded-with-the-reason-at-once', async () => {
    const world = await startActive('simulated');
    expect(readInstance(world)).not.toHaveProperty('degraded');
    await recordEvent(world, 'unplugged');
    const { state, degraded } = readInstance(world);
    expect(state).toBe('active');
    expect(degraded).toMatchObject({
      code: 'instance-degraded',
      ports: [{ port: 'web-p0', nic: 0, network: 'n', trouble: 'unplugged' }],
    });
    expect(degraded?.message).toContain('port web-p0 (NIC 0, network n) was reported as unplugged');
    await recordEvent(world, 'plugged');
    expect(readInstance(world)).not.toHaveProperty('degraded');
  });

  test('raises-an-alarm-and-is-connected-again-which-clears-it', async () => {
    const world = await startActive('simulated');
    const { serial = 0 } = world.port('web-p0') ?? {};
    await recordEvent(world, 'unplugged');
    await world.tick();
    expect(world.alarm('web')).toMatchObject({
      severity: 'critical',
      reason: { code: 'instance-degraded', host: 'h2' },
    });
    await world.settle();
    expectConnected(world, 'h2');
    expect(world.port('web-p0')?.serial).toBe(serial + 1);
    expect(world.addresses('web')).toEqual(['10.0.0.2']);
  });

  test('is-tried-again-less-and-less-often-for-ever-and-over-restarts', async () => {
    const world = await startUnplugged();
    const calls = (): number => world.network.calls.list().filter(({ op }) => op === 'bind').length;
    const before = calls();
    for (let tick = 0; tick < 720; tick += 1) {
      if (tick % 100 === 50) await world.restart();
      await world.tick();
    }
    // An hour: about one a minute once the backoff has grown.
    expect(calls() - before).toBeGreaterThan(30);
    expect(calls() - before).toBeLessThan(70);
    expect(readInstance(world).degraded?.lastTry).toContain('binding-failed');
    expect(readInstance(world).degraded?.operation).toMatch(/^replug-/);
    expect(world.alarm('web')).toBeDefined();
    world.network.faults.disarm();
    for (let tick = 0; tick < 20; tick += 1) await world.tick();
    expectConnected(world, 'h2');
  });

  test('on-a-host-that-is-forced-down-says-so-and-is-connected-when-that-is-taken-back', async () => {
    const world = await startUnplugged();
    const h2 = { id: 'h2', by: 'ann', reason: 'power' };
    await world.commit((fleet) => forceDownHost(fleet, { ...h2, nowMs: world.nowMs }));
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expect(openReplugItem(world.fleet, 'web')?.doc.reason).toMatchObject({ code: 'host-forced-down', host: 'h2' });
    world.network.faults.disarm();
    await world.commit((fleet) => clearForceDown(fleet, { ...h2, nowMs: world.nowMs }));
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectConnected(world, 'h2');
  });

  test('can-be-moved-and-is-well-where-it-arrives', async () => {
    const world = await startUnplugged();
    const operation = await move(world);
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expectConnected(world, 'h4');
  });

  test('the-alarm-states-the-present-cause: another trouble replaces the sentence of the first', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 9999 });
    await recordEvent(world, 'unplugged');
    await world.tick();
    expect(world.alarm('web')?.reason['trouble']).toContain('was reported as unplugged');
    const { sinceMs } = world.alarm('web') ?? {};
    while (world.replug('web')?.reason?.code !== 'not-connected') await world.tick();
    await world.tick();
    expect(world.alarm('web')?.reason['trouble']).toContain('is not bound to its host');
    expect(world.alarm('web')?.sinceMs).toBe(sinceMs);
  });

  test('can-be-deleted-and-leaves-nothing', async () => {
    const world = await startUnplugged();
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...commandBase(world) }));
    await world.settle();
    expect([world.instance('web'), world.port('web-p0'), world.alarm('web')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('can-be-shelved', async () => {
    const world = await startUnplugged();
    await world.commit((fleet) => shelveInstance(fleet, { id: 'web', hasCredentials: true, ...commandBase(world) }));
    await world.settle();
    expect([world.instance('web')?.state, world.alarm('web')]).toEqual(['shelved', undefined]);
    expect(world.open()).toEqual([]);
  });

  test('never: an answer to an order that is not the last one counts', async () => {
    const world = await startUnplugged();
    const waiting = openReplugItem(world.fleet, 'web')!;
    const { serial = 0 } = world.port('web-p0') ?? {};
    const answered = (order: string): RecordStep | undefined => {
      const reason = { code: 'ports-bound-again', orders: [order] };
      const item = { ...waiting, doc: { ...waiting.doc, step: 'bind', state: 'running' as const, reason } };
      const ports = [{ port: 'web-p0', outcome: 'ok', type: 'simulated', addresses: [] }];
      return instanceReplug.observe?.(
        item,
        { kind: 'applied', facts: { ports } },
        { fleet: world.fleet, nowMs: world.nowMs },
      );
    };
    expect(answered(`web-p0:${serial - 1}`)).toMatchObject({ progress: { step: 'rebind' }, changes: [] });
    expect(answered(`web-p0:${serial}`)).toMatchObject({ progress: { step: 'plug' }, changes: [{ id: 'web-p0' }] });
  });
});

describe('a move', () => {
  test('goes-on-to-the-next-host-when-the-port-could-not-be-plugged', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'plug', host: 'h4', outcome: 'plug-failed', times: 9999 });
    const operation = await move(world);
    const { nowMs } = world;
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expectConnected(world, 'h5');
    expect(world.nowMs - nowMs).toBeLessThan(200_000);
  });

  test('reports-a-plug-again-whose-report-was-lost', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'plug', host: 'h4', outcome: 'hang' });
    const operation = await move(world);
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expectConnected(world, 'h4');
  });

  test('that-no-event-says-is-plugged-has-failed-and-the-instance-is-degraded', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'plug', outcome: 'hang', times: 9999 });
    const operation = await move(world);
    for (let tick = 0; tick < 300; tick += 1) await world.tick();
    const { state, reason } = world.item(operation, 'web') ?? {};
    expect({ state, code: reason?.code }).toEqual({ state: 'failed', code: 'not-plugged' });
    expect(world.instance('web')?.state).toBe('active');
    expect(world.degraded('web')).toEqual(['web-p0: not-plugged']);
    expect(world.alarm('web')).toBeDefined();
    world.network.faults.disarm();
    for (let tick = 0; tick < 60; tick += 1) await world.tick();
    expectConnected(world, world.instance('web')?.host ?? '');
  });
});

describe('a build', () => {
  test('whose-port-could-not-be-plugged-goes-on-elsewhere-at-once', async () => {
    const world = await InstancesWorld.of(fixtureF('simulated'));
    world.network.faults.arm({ op: 'plug', host: 'h2', outcome: 'plug-failed', times: 1 });
    const { nowMs } = world;
    await world.create();
    await world.settle();
    expectConnected(world, 'h3');
    expect(world.nowMs - nowMs).toBeLessThan(200_000);
    expect(world.instance('web')?.attempts[0]).toMatchObject({
      host: 'h2',
      fault: 'not-plugged',
      text: 'The network reported that port web-p0 (NIC 0, network n) could not be plugged by its host.',
    });
  });
});

describe('nothing is bound for a host that binds ports by itself, and the wait says', () => {
  async function withUnpluggedAt(
    facts: Parameters<InstancesWorld['edit']>[1],
  ): Promise<{ world: InstancesWorld; lastTry: () => string }> {
    const world = await startActive('simulated');
    await world.edit('h2', facts);
    await recordEvent(world, 'unplugged');
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expect(world.replug('web')).toMatchObject({ state: 'waiting', reason: { code: 'host-binds', host: 'h2' } });
    expect(world.port('web-p0')?.binding?.host).toBe('h2');
    return { world, lastTry: () => readInstance(world).degraded?.lastTry ?? '' };
  }

  test('of-a-driver-that-it-is-its-to-do-and-ends-with-its-word', async () => {
    const { world, lastTry } = await withUnpluggedAt({ bindsAt: 'driver' });
    expect(lastTry()).toContain('only its driver can connect them');
    expect(lastTry()).not.toContain('pgrade');
    await recordEvent(world, 'plugged');
    await world.settle();
    expectConnected(world, 'h2');
  });

  test('of-old-agents-how-many-and-binds-when-they-are-upgraded', async () => {
    const { world, lastTry } = await withUnpluggedAt({ serviceVersion: 2 });
    expect(lastTry()).toContain('have service version 3 (below it: 1)');
    await world.edit('h2', { serviceVersion: 3 });
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectConnected(world, 'h2');
  });
});

/** Drained off h2, it runs at h4, where the back end no longer binds it. */
async function startMovedAndDegraded(): Promise<{ readonly world: InstancesWorld; readonly operation: string }> {
  const world = await startActive('simulated');
  world.network.faults.arm({ op: 'activate', outcome: 'binding-failed', times: 9999 });
  const operation = await drain(world, 'h2');
  for (let tick = 0; world.instance('web')?.host === 'h2'; tick += 1) {
    await world.tick();
    if (tick > 100) throw new Error('it does not move');
  }
  world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 9999 });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  return { world, operation };
}

async function drain(world: InstancesWorld, host: string): Promise<string> {
  const command = { hosts: [host], drain: true, ...commandBase(world) };
  return (await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, command))).operation ?? '';
}

function expectDrained(world: InstancesWorld, operation: string, host: string): void {
  expect(findHost(world.fleet, host)?.doc.state).toBe('drained');
  expect(world.operationDoc(operation)?.state).toBe('succeeded');
}

function expectWaitsFor(world: InstancesWorld, operation: string, from: string): void {
  expect(findHost(world.fleet, from)?.doc.state).toBe('draining');
  expect(world.item(operation, from)).toMatchObject({ state: 'waiting', reason: { code: 'moved-and-degraded', from } });
}

describe('a drain', () => {
  test('does-not-end-because-an-operator-moves-on-what-it-moved-and-fails', async () => {
    const { world, operation } = await startMovedAndDegraded();
    const second = await move(world);
    await world.settle();
    expect(world.operationDoc(second)?.state).toBe('failed');
    expect(world.degraded('web')).not.toEqual([]);
    expectWaitsFor(world, operation, 'h2');
    world.network.faults.disarm();
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectConnected(world, 'h4');
    expectDrained(world, operation, 'h2');
  });

  test('ends-when-an-operator-moves-on-what-it-moved-to-where-it-is-connected', async () => {
    const { world, operation } = await startMovedAndDegraded();
    world.network.faults.disarm();
    world.network.faults.arm({ op: 'bind', host: 'h4', outcome: 'binding-failed', times: 9999 });
    await move(world, { target: 'h5' });
    await world.settle();
    expectConnected(world, 'h5');
    expectDrained(world, operation, 'h2');
  });

  test('goes-on-waiting-when-the-host-that-it-moved-something-to-is-drained-as-well', async () => {
    const { world, operation } = await startMovedAndDegraded();
    world.network.faults.disarm();
    world.network.faults.arm({ op: 'activate', outcome: 'binding-failed', times: 9999 });
    world.network.faults.arm({ op: 'bind', host: 'h4', outcome: 'binding-failed', times: 9999 });
    const second = await drain(world, 'h4');
    for (let tick = 0; world.instance('web')?.host === 'h4'; tick += 1) {
      await world.tick();
      if (tick > 200) throw new Error('it does not move');
    }
    world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 9999 });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h5' });
    expectWaitsFor(world, operation, 'h2');
    expectWaitsFor(world, second, 'h4');
    world.network.faults.disarm();
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectConnected(world, 'h5');
    expectDrained(world, operation, 'h2');
    expectDrained(world, second, 'h4');
  });

  test('waits-for-what-was-on-its-host-in-the-course-of-a-move-and-is-not-connected-where-that-ends', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', outcome: 'binding-failed', times: 9999 });
    await move(world);
    const until = async (host: string): Promise<void> => {
      for (let tick = 0; world.instance('web')?.host !== host; tick += 1) {
        await world.tick();
        if (tick > 100) throw new Error(`it does not get to ${host}`);
      }
    };
    await until('h4');
    const operation = await drain(world, 'h4');
    await until('h5');
    world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 9999 });
    await world.settle();
    expectWaitsFor(world, operation, 'h4');
    world.network.faults.disarm();
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectConnected(world, 'h5');
    expectDrained(world, operation, 'h4');
  });

  test('waits-for-what-an-operator-moved-off-its-host-and-is-not-connected', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'activate', outcome: 'binding-failed', times: 9999 });
    await move(world);
    const operation = await drain(world, 'h2');
    for (let tick = 0; world.instance('web')?.host === 'h2'; tick += 1) {
      await world.tick();
      if (tick > 100) throw new Error('it does not move');
    }
    world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 9999 });
    await world.settle();
    expectWaitsFor(world, operation, 'h2');
    world.network.faults.disarm();
    for (let tick = 0; tick < 30; tick += 1) await world.tick();
    expectDrained(world, operation, 'h2');
  });

  test('an-instance-that-is-not-connected-where-it-was-moved-counts-as-not-moved', async () => {
    const { world, operation } = await startMovedAndDegraded();
    expect(findHost(world.fleet, 'h2')?.doc.state).toBe('draining');
    expect(world.operationDoc(operation)?.state).toBe('running');
    expect(world.item(operation, 'h2')).toMatchObject({
      state: 'waiting',
      reason: { code: 'moved-and-degraded', instance: 'web', host: 'h4', from: 'h2' },
    });
    world.network.faults.disarm();
    for (let tick = 0; tick < 20; tick += 1) await world.tick();
    expectConnected(world, 'h4');
    expect(findHost(world.fleet, 'h2')?.doc.state).toBe('drained');
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
  });
});
