// When an instance counts as degraded, since when, and which alarm follows: the check of one instance as a table of cases, and the controller, over a
// change of the lease and over commits that fail.
import { describe, expect, test } from 'vitest';
import { ALARM, alarmId } from '../../alarms/index.ts';
import { idOf, put, remove, type Change } from '../../fleet/index.ts';
import { StoreUnavailable } from '../../journal/index.ts';
import { NETWORK_EVENT, PORT, recordNetworkEvents, type Port } from '../../network/index.ts';
import { decideDegraded } from './alarm.ts';
import { degradedReason, listDisconnectedPorts } from './degraded.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE, type InstanceState } from '../model.ts';
import { startActive } from '../move/moves-fixture.ts';
import type { StoredInstance } from '../build/placement.ts';
import { fixtureF } from '../reference-fixture.ts';

const instanceIn = (world: InstancesWorld): StoredInstance =>
  world.fleet.get(INSTANCE, idOf(INSTANCE, 'web')) as StoredInstance;

function portWith(world: InstancesWorld, id: string, facts: Partial<Port>): Change {
  return put(PORT, idOf(PORT, id), { ...(world.port(id) as Port), ...facts });
}

function inState(world: InstancesWorld, state: InstanceState): Change {
  return put(INSTANCE, idOf(INSTANCE, 'web'), { ...instanceIn(world).doc, state });
}

async function unplug(world: InstancesWorld, port: string, nowMs = world.nowMs): Promise<void> {
  const serial = world.port(port)?.binding?.serial ?? 0;
  const events = [{ port, name: 'unplugged' as const, serial }];
  await world.commit((fleet) => recordNetworkEvents(fleet, { events, nowMs }));
}

/** Bound a moment ago, without an event yet. */
async function dropEvents(world: InstancesWorld): Promise<number> {
  const changes = [...world.fleet.all(NETWORK_EVENT)].map(({ id }) => remove(NETWORK_EVENT, id));
  await world.put(...changes, portWith(world, 'web-p0', { changedAtMs: world.nowMs }));
  return world.nowMs;
}

describe('the check of an instance', () => {
  test('a-port-that-is-bound-to-another-host-is-not-connected', async () => {
    const world = await startActive();
    const { binding } = world.port('web-p0') ?? {};
    await world.put(portWith(world, 'web-p0', { binding: { ...binding!, host: 'h4' } }));
    expect(world.degraded('web')).toEqual(['web-p0: unbound']);
  });

  test('ports-beyond-the-third-are-counted, not-named', async () => {
    const world = await startActive('simulated');
    await unplug(world, 'web-p0');
    const [one] = listDisconnectedPorts(world.fleet, instanceIn(world));
    const trouble = (count: number): unknown =>
      degradedReason(
        instanceIn(world),
        Array.from({ length: count }, () => one!),
      )['trouble'];
    expect(String(trouble(3))).not.toContain('more');
    expect(String(trouble(5))).toMatch(/unplugged; and 2 more$/);
  });

  test('a-port-without-an-event-has-ten-seconds', async () => {
    const world = await startActive('simulated');
    const sinceMs = await dropEvents(world);
    expect(decideDegraded(world.fleet, 'web', sinceMs + 9999)).toEqual({ changes: [], recheckAtMs: sinceMs + 10_000 });
    expect(decideDegraded(world.fleet, 'web', sinceMs + 10_000).changes).not.toEqual([]);
  });

  test('the-alarm-is-as-old-as-the-first-trouble', async () => {
    const world = await InstancesWorld.of(fixtureF('simulated'));
    await world.create({ networks: [{ network: 'n' }, { network: 'n' }] });
    await world.settle();
    await unplug(world, 'web-p1', world.nowMs - 2000);
    await unplug(world, 'web-p0', world.nowMs - 1000);
    const { changes } = decideDegraded(world.fleet, 'web', world.nowMs);
    expect(changes.find(({ kind }) => kind === ALARM.name)?.doc).toMatchObject({ sinceMs: world.nowMs - 2000 });
  });

  test('the-alarm-says-what-is-wrong-now-and-where, and-is-as-old-as-it-was', async () => {
    const world = await startActive('simulated');
    await unplug(world, 'web-p0');
    await world.put(...decideDegraded(world.fleet, 'web', world.nowMs).changes);
    const { sinceMs } = world.alarm('web')!;
    await world.put(put(INSTANCE, idOf(INSTANCE, 'web'), { ...instanceIn(world).doc, host: 'h4' }));
    await world.put(...decideDegraded(world.fleet, 'web', world.nowMs + 60_000).changes);
    expect(world.alarm('web')).toMatchObject({ sinceMs, reason: { host: 'h4' } });
    expect(world.alarm('web')?.reason['trouble']).toContain('is not bound to its host');
    expect(decideDegraded(world.fleet, 'web', world.nowMs + 120_000).changes).toEqual([]);
  });

  test.each([
    ['moving', true],
    ['rebuilding', true],
    ['shelved', false],
    ['error', false],
  ] as const)('that-is-%s: the alarm stays: %s', async (state, stays) => {
    const world = await startActive('simulated');
    await unplug(world, 'web-p0');
    await world.put(...decideDegraded(world.fleet, 'web', world.nowMs).changes);
    await world.put(inState(world, state));
    await world.put(...decideDegraded(world.fleet, 'web', world.nowMs).changes);
    expect(world.alarm('web') !== undefined).toBe(stays);
  });
});

describe('the controller', () => {
  test('a-new-lease-holder-finds-what-was-not-checked-before', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 999 });
    await unplug(world, 'web-p0');
    await world.restart();
    await world.tick();
    expect(world.alarm('web')).toBeDefined();
  });

  test('whoever-gets-the-lease-clears-the-alarm-of-an-instance-that-is-gone', async () => {
    const world = await startActive('simulated');
    await unplug(world, 'web-p0');
    const alarm = decideDegraded(world.fleet, 'web', world.nowMs).changes.find(({ kind }) => kind === ALARM.name);
    await world.put({ ...alarm!, id: alarmId('instance-degraded', 'gone') });
    await world.restart();
    await world.tick();
    expect(world.alarm('gone')).toBeUndefined();
  });

  test('looks-again-when-the-grace-of-a-port-is-over, though-nothing-else-happens', async () => {
    const world = await startActive('simulated');
    world.network.faults.arm({ op: 'plug', outcome: 'hang', times: 999 });
    await dropEvents(world);
    await world.tick();
    expect(world.alarm('web')).toBeUndefined();
    await world.tick();
    expect(world.alarm('web')).toBeDefined();
  });

  test('tries-again-what-could-not-be-written', async () => {
    const world = await startActive('simulated');
    await unplug(world, 'web-p0');
    const { store } = world.journal;
    const { write } = store;
    const cut = (): Promise<never> => Promise.reject(new StoreUnavailable('cut', { outcome: 'failed' }));
    Object.assign(store, { write: cut });
    await world.tick();
    expect(world.alarm('web')).toBeUndefined();
    Object.assign(store, { write });
    await world.tick();
    expect(world.alarm('web')).toBeDefined();
  });
});
