// Shelving and unshelving: what is refused, what is kept on the shelf, and that no instance that ran loses its ports.
import { describe, expect, test } from 'vitest';
import type { FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { cancelOperation, retryOperation, type OperationId } from '../../operations/index.ts';
import { deleteInstances } from '../delete/request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { renderPlan } from '../plan-fixture.ts';
import { fixtureF, KINDS } from '../reference-fixture.ts';
import { shelveInstance, unshelveInstance, type ShelveInstance } from './shelve.ts';

const HOUR_MS = 3_600_000;

async function startActive(backEnd: Parameters<typeof fixtureF>[0] = 'embedded'): Promise<InstancesWorld> {
  const world = await InstancesWorld.of(fixtureF(backEnd));
  await world.create();
  await world.settle();
  return world;
}

type Verb = typeof shelveInstance;

function decideShelve(world: InstancesWorld, verb: Verb, facts: Partial<ShelveInstance> = {}) {
  const base = { id: 'web', by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS, hasCredentials: true };
  const command = { ...base, operation: world.operation(), ...facts };
  return (fleet: FleetReader): Decision<{ readonly operation: OperationId }> => verb(fleet, command);
}

async function startShelved(backEnd?: Parameters<typeof fixtureF>[0]): Promise<InstancesWorld> {
  const world = await startActive(backEnd);
  await world.commit(decideShelve(world, shelveInstance));
  await world.settle();
  expect(world.instance('web')?.state).toBe('shelved');
  return world;
}

describe('refused', () => {
  test('unknown-instance', async () => {
    const world = await InstancesWorld.of();
    for (const verb of [shelveInstance, unshelveInstance]) {
      expect(await world.refusal(decideShelve(world, verb))).toMatchObject({ code: 'unknown-instance' });
    }
  });

  test('not-active and not-shelved', async () => {
    const world = await startActive();
    expect(await world.refusal(decideShelve(world, unshelveInstance))).toMatchObject({ code: 'not-shelved' });
    await world.commit(decideShelve(world, shelveInstance));
    expect(await world.refusal(decideShelve(world, shelveInstance))).toMatchObject({ code: 'not-active' });
    expect(await world.refusal(decideShelve(world, unshelveInstance))).toMatchObject({ code: 'not-shelved' });
  });

  test('being-deleted', async () => {
    const world = await startActive();
    const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
    await world.commit((fleet) => deleteInstances(fleet, command));
    for (const verb of [shelveInstance, unshelveInstance]) {
      expect(await world.refusal(decideShelve(world, verb))).toMatchObject({ code: 'being-deleted' });
    }
  });
});

test('the-plan-of-each-step', async () => {
  const world = await startActive('simulated');
  const { operation } = await world.commit(decideShelve(world, shelveInstance));
  const lines: string[] = [];
  for (const step of ['destroy', 'unbind']) {
    await world.runUntilStep(operation, 'web', step);
    lines.push([step, ...renderPlan(world, operation, 'web')].join('\n  '));
  }
  expect(lines.join('\n')).toMatchInlineSnapshot(`
    "destroy
      task for h2: destroy {"instance":"web","nics":[{"port":"web-p0","nic":0,"network":"n","backEnd":"simulated","mac":"02:00:00:00:10:00","addresses":["10.0.0.2"],"serial":1,"segment":"seg0","type":"simulated","createdBy":"muster"}],"ports":"leave"}
    unbind
      act: simulated is to unbind web-p0 under serial 2"
  `);
});

test.each(['embedded', 'simulated', 'host-local'] as const)(
  'scheduling-6 on %s: off its host with its ports and addresses, then scheduled anew, h2 allowed',
  async (backEnd) => {
    const world = await startActive(backEnd);
    const [before] = world.ports('web');
    await world.commit(decideShelve(world, shelveInstance));
    expect(world.instance('web')?.state).toBe('shelving');
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'shelved', wasActive: true });
    expect(world.instance('web')?.host).toBeUndefined();
    expect(world.claim('web')).toBeUndefined();
    expect(world.ports('web')[0]).toMatchObject({ instance: 'web', addresses: before?.addresses });
    expect(world.ports('web')[0]?.binding).toBeUndefined();
    expect(world.machines.hostsWith('web')).toEqual([]);
    await world.commit(decideShelve(world, unshelveInstance));
    expect(world.instance('web')).toMatchObject({ state: 'building', attempts: [] });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.ports('web')[0]).toMatchObject({ addresses: before?.addresses, mac: before?.mac });
    expect(world.machines.hostsWith('web')).toEqual(['h2']);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  },
);

test('the-host-is-silent: it waits, and goes on when the host is back', async () => {
  const world = await startActive();
  await world.disconnectHost('h2');
  const { operation } = await world.commit(decideShelve(world, shelveInstance));
  await world.settle();
  expect(world.item(operation, 'web')).toMatchObject({ state: 'waiting', reason: { code: 'host-silent', host: 'h2' } });
  await world.reconnectHost('h2');
  await world.settle();
  expect(world.instance('web')?.state).toBe('shelved');
});

test('the-host-is-dead: on the shelf at once, and the host is swept when it is back', async () => {
  const world = await startActive();
  await world.disconnectHost('h2');
  await world.forceDown('h2');
  await world.commit(decideShelve(world, shelveInstance));
  await world.settle();
  expect(world.instance('web')?.state).toBe('shelved');
  expect(world.machines.hostsWith('web')).toEqual(['h2']);
  await world.reconnectHost('h2');
  await world.settle();
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.violations).toEqual([]);
});

test('destroy-and-unbind-fail: asked again', async () => {
  const world = await startActive('simulated');
  world.machines.fail({ task: 'destroy', times: 2 });
  world.network.faults.arm({ op: 'unbind', outcome: 'unavailable', times: 2 });
  await world.commit(decideShelve(world, shelveInstance));
  await world.settle();
  expect(world.instance('web')?.state).toBe('shelved');
  expect(world.network.port('web-p0')?.binding).toBeUndefined();
  expect(world.violations).toEqual([]);
});

test('the-deadline-passes-while-the-host-is-silent: it is not shelved, for it may still run there', async () => {
  const world = await startActive();
  await world.disconnectHost('h2');
  const { operation } = await world.commit(decideShelve(world, shelveInstance));
  await world.settle();
  world.clock.now += HOUR_MS + 1;
  await world.settle();
  expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
  expect(world.instance('web')).toMatchObject({ state: 'shelving', host: 'h2' });
  expect(world.claim('web')).toMatchObject({ host: 'h2' });
  expect(world.machines.hostsRunning('web')).toEqual(['h2']);
  await world.reconnectHost('h2');
  await world.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
  await world.settle();
  expect([world.instance('web')?.state, world.machines.hostsWith('web')]).toEqual(['shelved', []]);
});

test('the-deadline-passes-after-the-copy-is-gone: it is on the shelf all the same, and can be unshelved', async () => {
  const world = await startActive('simulated');
  const before = world.addresses('web');
  const { operation } = await world.commit(decideShelve(world, shelveInstance));
  await world.runUntilStep(operation, 'web', 'unbind');
  expect(world.machines.hostsWith('web')).toEqual([]);
  world.network.faults.arm({ op: 'unbind', outcome: 'unavailable', times: 9 });
  world.clock.now += HOUR_MS + 1;
  await world.settle();
  expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'deadline-passed' } });
  expect(world.instance('web')).toMatchObject({ state: 'shelved' });
  expect(world.claim('web')).toBeUndefined();
  await world.commit(decideShelve(world, unshelveInstance));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active' });
  expect(world.addresses('web')).toEqual(before);
  expect(world.violations).toEqual([]);
});

test.each(['embedded', 'simulated'] as const)(
  'unshelve-without-a-host on %s: back to the shelf with the report and all its ports',
  async (backEnd) => {
    const world = await startShelved(backEnd);
    const before = world.addresses('web');
    for (const host of ['h2', 'h4', 'h5']) await world.edit(host, { disabled: { reason: 'x', by: 'x', atMs: 0 } });
    const { operation } = await world.commit(decideShelve(world, unshelveInstance));
    await world.settle();
    expect(world.item(operation, 'web')).toMatchObject({ state: 'failed', reason: { code: 'no-valid-host' } });
    expect(world.instance('web')).toMatchObject({ state: 'shelved', fault: { code: 'no-valid-host' } });
    expect(world.instance('web')?.fault?.message).toMatch(
      /^It is back on the shelf, with its ports and addresses; "muster instances unshelve web" tries again\. /,
    );
    expect(world.addresses('web')).toEqual(before);
    for (const host of ['h2', 'h4', 'h5']) await world.reconnectHost(host);
    await world.commit(decideShelve(world, unshelveInstance));
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.instance('web')?.fault).toBeUndefined();
    expect(world.violations).toEqual([]);
  },
);

test('unshelve-that-fails-everywhere: back to the shelf, nothing left on the hosts', async () => {
  const world = await startShelved();
  world.machines.fail({ task: 'build', times: 9, after: true });
  await world.commit(decideShelve(world, unshelveInstance));
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'shelved', fault: { code: 'attempts-exhausted' } });
  expect(world.addresses('web')).toHaveLength(1);
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.violations).toEqual([]);
});

test.each(['schedule', 'build'])('an-unshelve-that-is-cancelled-at-%s goes back to the shelf', async (step) => {
  const world = await startShelved();
  const { operation } = await world.commit(decideShelve(world, unshelveInstance));
  await world.runUntilStep(operation, 'web', step);
  await world.commit((fleet) => cancelOperation(fleet, { id: operation, kinds: KINDS, nowMs: world.nowMs }));
  await world.settle();
  expect(world.operationDoc(operation)?.state).toBe('cancelled');
  expect(world.instance('web')).toMatchObject({ state: 'shelved' });
  expect(world.addresses('web')).toHaveLength(1);
  expect(world.claim('web')).toBeUndefined();
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
});

test('instances-that-were-asked-for-together-come-back-one-by-one', async () => {
  const world = await InstancesWorld.of();
  await world.create({ count: 2 });
  await world.settle();
  await world.commit(decideShelve(world, shelveInstance, { id: 'web-1' }));
  await world.settle();
  await world.commit(decideShelve(world, unshelveInstance, { id: 'web-1' }));
  await world.settle();
  expect(world.instance('web-1')).toMatchObject({ state: 'active' });
  expect(world.violations).toEqual([]);
});

test('an-old-host-joined-meanwhile: the path of the build is the present one', async () => {
  const world = await startShelved();
  await world.edit('h3', { serviceVersion: 1 });
  await world.commit(decideShelve(world, unshelveInstance));
  expect(world.instance('web')?.path).toEqual({ create: 'host', bind: 'host' });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  expect(world.violations).toEqual([]);
});

test.each(['destroy', 'shelved'])('a-delete-wins-at-%s', async (step) => {
  const world = step === 'shelved' ? await startShelved() : await startActive();
  if (step === 'destroy') await world.commit(decideShelve(world, shelveInstance));
  const command = { ids: ['web'], operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => deleteInstances(fleet, command));
  await world.settle();
  expect(world.instance('web')).toBeUndefined();
  expect(world.port('web-p0')).toBeUndefined();
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.violations).toEqual([]);
});
