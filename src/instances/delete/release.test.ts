// A build whose deadline has passed releases everything that it held, at whichever step it was.
import { describe, expect, test } from 'vitest';
import { loadItem } from '../build/steps.ts';
import { instanceRelease } from './release.ts';
import { deleteInstances } from './request.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { createPort } from '../../network/decisions-fixture.ts';
import { PORTS_BY_HOST } from '../../network/index.ts';
import { fixtureF, INSTANCE_EVACUATOR } from '../reference-fixture.ts';

const DEADLINE_MS = 600_000;

async function passDeadlineAt(world: InstancesWorld, operation: string, step: string): Promise<void> {
  await world.runUntilStep(operation, 'web', step);
  world.clock.now += DEADLINE_MS + 1;
}

function expectReleased(world: InstancesWorld, ...ports: readonly string[]): void {
  expect(world.instance('web')).toMatchObject({ state: 'error', nics: [], fault: { code: 'deadline-passed' } });
  expect(world.instance('web')?.host).toBeUndefined();
  expect(world.claim('web')).toBeUndefined();
  expect(ports.map((port) => world.port(port))).toEqual(ports.map(() => undefined));
  expect(ports.map((port) => world.network.port(port))).toEqual(ports.map(() => undefined));
  expect(world.machines.hostsWith('web')).toEqual([]);
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
}

describe('deadline-gives-back', () => {
  test.each([
    ['embedded', 'build'],
    ['host-local', 'build'],
    ['simulated', 'ports'],
    ['simulated', 'schedule'],
    ['simulated', 'bind'],
    ['simulated', 'build'],
    ['simulated', 'plug'],
  ] as const)('%s-at-%s: claim, port and copy are gone', async (backEnd, step) => {
    const world = await InstancesWorld.of(fixtureF(backEnd));
    await passDeadlineAt(world, await world.create({ deadlineMs: DEADLINE_MS }), step);
    await world.settle();
    expectReleased(world, 'web-p0');
  });

  test('the-host-has-a-copy: it is destroyed there before the addresses are free', async () => {
    const world = await InstancesWorld.of();
    const operation = await world.create({ deadlineMs: DEADLINE_MS });
    await world.runUntilStep(operation, 'web', 'build');
    world.machines.perform('h2', { kind: 'build', args: { instance: 'web' } });
    await world.disconnectHost('h2');
    world.clock.now += DEADLINE_MS + 1;
    await world.settle();
    // It may run there, with its address.
    expect(world.port('web-p0')?.addresses).toHaveLength(1);
    expect(world.open()).toEqual([expect.stringContaining('host-silent')]);
    await world.reconnectHost('h2');
    await world.settle();
    expectReleased(world, 'web-p0');
  });

  test.each(['embedded', 'simulated'] as const)('a-users-port-is-free-again: on %s', async (backEnd) => {
    const world = await InstancesWorld.of(fixtureF(backEnd));
    const port = { id: 'mine', network: 'n', admin: true, by: 'ann', nowMs: world.nowMs };
    await world.commit((fleet) => createPort(fleet, port));
    const request = { networks: [{ port: 'mine' }], portIds: [], deadlineMs: DEADLINE_MS };
    await passDeadlineAt(world, await world.create(request), 'build');
    await world.settle();
    expect(world.port('mine')).toMatchObject({ createdBy: 'user', addresses: [] });
    expect(world.port('mine')).not.toHaveProperty('instance');
    expect(world.port('mine')).not.toHaveProperty('binding');
    expectReleased(world);
  });

  test('the-host-is-not-blocked: nothing of the build is left to evacuate', async () => {
    const world = await InstancesWorld.of(fixtureF('simulated'));
    await passDeadlineAt(world, await world.create({ deadlineMs: DEADLINE_MS }), 'plug');
    await world.settle();
    expect(INSTANCE_EVACUATOR.inventory(world.fleet, 'h2')).toEqual([]);
    expect([...world.fleet.find(PORTS_BY_HOST, 'h2')]).toEqual([]);
  });

  test('a-delete-meanwhile: the instance is gone, and nothing is left of it', async () => {
    const world = await InstancesWorld.of();
    const operation = await world.create({ deadlineMs: DEADLINE_MS });
    await world.runUntilStep(operation, 'web', 'build');
    world.machines.perform('h2', { kind: 'build', args: { instance: 'web' } });
    await world.disconnectHost('h2');
    world.clock.now += DEADLINE_MS + 1;
    await world.settle();
    const command = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: DEADLINE_MS };
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
    await world.reconnectHost('h2');
    await world.settle();
    expect(world.instance('web')).toBeUndefined();
    expect([world.claim('web'), world.port('web-p0')]).toEqual([undefined, undefined]);
    expect(world.machines.hostsWith('web')).toEqual([]);
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('a-delete-meanwhile-does-not-wait-for-the-release: that has nothing to do any more', async () => {
    const world = await InstancesWorld.of();
    const operation = await world.create({ deadlineMs: DEADLINE_MS });
    await world.runUntilStep(operation, 'web', 'build');
    await world.disconnectHost('h2');
    world.clock.now += DEADLINE_MS + 1;
    await world.settle();
    expect(world.open()).toEqual([expect.stringMatching(/^release-.* destroy waiting \(host-silent\)$/)]);
    const deletion = world.operation();
    const command = { operation: deletion, by: 'ann', nowMs: world.nowMs, deadlineMs: DEADLINE_MS };
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
    await world.settle();
    expect(world.open()).toEqual([`${deletion}.web destroy waiting (host-silent)`]);
    expect(world.violations).toEqual([]);
  });

  test('an-answer-of-the-back-end-after-a-delete: the instance stays deleting, and the rest is the deletion’s', async () => {
    const world = await InstancesWorld.of(fixtureF('simulated'));
    const operation = await world.create({ deadlineMs: DEADLINE_MS });
    await passDeadlineAt(world, operation, 'ports');
    const release = `release-${operation}.web:late`;
    await world.runUntilStep(release, 'web', 'release');
    const command = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: DEADLINE_MS };
    await world.commit((fleet) => deleteInstances(fleet, { ids: ['web'], ...command }));
    const facts = { ports: [{ port: 'web-p0', outcome: 'ok' }] };
    const item = loadItem(world.fleet, `${release}.web`).item;
    const recorded = instanceRelease.observe?.(
      item,
      { kind: 'applied', facts },
      { fleet: world.fleet, nowMs: world.nowMs },
    );
    expect(recorded).toMatchObject({ progress: { state: 'done' }, changes: [] });
    await world.settle();
    expect(world.instance('web')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });
});
