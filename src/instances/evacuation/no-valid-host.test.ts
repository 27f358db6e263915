// The reasons of each instance that has no host to move to, before a move starts.
import { describe, expect, test } from 'vitest';
import { idOf, mergeChanges, runTrial, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost, HOST, planEvacuation, type PlannedEvacuation } from '../../hosts/index.ts';
import { schedulerModel } from '../../scheduler/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { GROUP, type ServerGroup } from '../model.ts';
import { move } from '../move/moves-fixture.ts';
import { fixtureF, flavor, hostF, INSTANCE_EVACUATOR } from '../reference-fixture.ts';

/** The scheduler's index of all hosts. */
function hostIndexOf(fleet: FleetReader): { slots: () => Iterable<number> } {
  const found = schedulerModel.projections?.find(({ name }) => name === 'host-index');
  if (found === undefined) throw new Error('the scheduler has an index of hosts');
  return fleet.projection(found) as unknown as { slots: () => Iterable<number> };
}

const ALONE: ServerGroup = { name: 'g', project: 'default', policy: 'affinity', changedBy: 'test', changedAtMs: 0 };

/** As a preview plans it: with the hosts leaving. */
function planLeaving(fleet: FleetReader, hosts: readonly string[], explained: number): readonly PlannedEvacuation[] {
  return runTrial(fleet, (trial) => {
    for (const id of hosts) {
      const host = findHost(trial, id);
      if (host !== undefined) trial.add([put(HOST, host.id, { ...host.doc, state: 'draining' })]);
    }
    const leavers = hosts.map((host) => ({ host, tenants: INSTANCE_EVACUATOR.inventory(trial, host) }));
    return planEvacuation(trial, INSTANCE_EVACUATOR, leavers, { nowMs: 1, explained });
  });
}

function messages(fleet: FleetReader, hosts: readonly string[], explained = 100): unknown[] {
  return planLeaving(fleet, hosts, explained).flatMap(({ evacuation }) =>
    evacuation.kind === 'wait' ? [evacuation.reason['message']] : [],
  );
}

async function worldOf(count: number, ...changes: readonly Change[]): Promise<InstancesWorld> {
  const world = await InstancesWorld.of(mergeChanges([...fixtureF(), ...changes]));
  await world.create({ count });
  await world.settle();
  return world;
}

describe('an instance that has no place to go', () => {
  test('each-report-has-its-own-address, and the segment that it pins', async () => {
    const world = await worldOf(2, hostF('h4', 200, 'seg2'), hostF('h5', 100, 'seg2'));
    expect(messages(world.fleet, ['h2'])).toEqual([
      'No host fits instance web-1 now. 1 of 5 hosts: leaving. 4 of 4 hosts: out of reach of segment seg0 of network n, which address 10.0.0.2 is in.',
      'No host fits instance web-2 now. 1 of 5 hosts: leaving. 4 of 4 hosts: out of reach of segment seg0 of network n, which address 10.0.0.3 is in.',
    ]);
  });

  test('what-the-others-of-the-plan-take-is-counted', async () => {
    const large = flavor('small', { memoryMiB: 60 * 1024 });
    const world = await worldOf(3, large, hostF('h2', 900, 'seg0'), hostF('h4', 100, 'seg0'), hostF('h5', 70, 'seg0'));
    expect(messages(world.fleet, ['h2'])).toEqual([
      'No host fits instance web-3 now. 1 of 5 hosts: leaving. 2 of 4 hosts: too little memory left: 61440 MiB requested, 40960 MiB at most. 2 of 2 hosts: out of reach of segment seg0 of network n, which address 10.0.0.4 is in.',
    ]);
  });

  test('those-with-the-same-needs-share-one-look-at-the-fleet', async () => {
    const world = await worldOf(5, hostF('h4', 200, 'seg2'), hostF('h5', 100, 'seg2'));
    let looks = 0;
    const index = hostIndexOf(world.fleet);
    const slots = index.slots.bind(index);
    index.slots = () => {
      looks += 1;
      return slots();
    };
    expect(messages(world.fleet, ['h2'])).toHaveLength(5);
    expect(looks).toBe(1);
  });

  test('a-group-that-it-is-alone-in-is-not-what-keeps-it', async () => {
    const world = await InstancesWorld.of(
      mergeChanges([
        ...fixtureF(),
        put(GROUP, idOf(GROUP, 'g'), ALONE),
        hostF('h4', 200, 'seg2'),
        hostF('h5', 100, 'seg2'),
      ]),
    );
    await world.create({ place: { group: 'g' } });
    await world.settle();
    const [message] = messages(world.fleet, ['h2']);
    expect(message).toContain('out of reach of segment seg0');
    expect(message).not.toContain('group');
  });

  test('beyond-the-limit, and in a drain, the command for the reasons is named', async () => {
    const world = await worldOf(2, hostF('h4', 200, 'seg2'), hostF('h5', 100, 'seg2'));
    expect(messages(world.fleet, ['h2'], 1)).toEqual([
      expect.stringContaining('10.0.0.2'),
      'No host fits instance web-2 now. "muster hosts tenants h2" says what the hosts lack, and so does "muster scale-in status" once its host leaves.',
    ]);
  });

  test('a-rebuild-too: its host is forced down', async () => {
    const world = await worldOf(1, hostF('h4', 200, 'seg2'), hostF('h5', 100, 'seg2'));
    await world.forceDown('h2');
    expect(messages(world.fleet, ['h2'])).toEqual([
      'No host fits instance web now. 1 of 5 hosts: forced down. 4 of 4 hosts: out of reach of segment seg0 of network n, which address 10.0.0.2 is in.',
    ]);
  });
});

describe('a report lists why hosts are excluded', () => {
  test('a-build: tried before, with the fault and the hosts; the fault stays the headline', async () => {
    const world = await InstancesWorld.of();
    world.machines.fail({ task: 'build', times: 9, fault: 'spawn-failed' });
    await world.create({ attemptsMax: 9 });
    await world.settle();
    const { message } = world.instance('web')?.fault ?? { message: '' };
    expect(message).toContain('4 of 5 hosts: excluded: tried before in this build: spawn-failed on h2, h3, h4, h5.');
    expect(message).toContain(' No other host fits. ');
    expect(message.startsWith('No host fits')).toBe(false);
  });

  test('a-move: the host that it leaves, and those that were tried', async () => {
    const world = await InstancesWorld.of();
    await world.create();
    await world.settle();
    world.machines.fail({ task: 'prepare', times: 9, fault: 'migration-failed' });
    await move(world);
    await world.settle();
    const { message } = world.instance('web')?.fault ?? { message: '' };
    expect(message).toContain('2 of 5 hosts: excluded: tried before in this move: migration-failed on h4, h5.');
    expect(message).toContain('1 of 3 hosts: excluded: it is to leave h2.');
    expect(message.startsWith('No host fits')).toBe(false);
  });
});
