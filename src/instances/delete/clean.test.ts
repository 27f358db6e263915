// Which copy of an instance may be the only one: a table of what is known of the instance and of its recorded host.
import { describe, expect, test } from 'vitest';
import { idOf, put, type Change } from '../../fleet/index.ts';
import { HOST, type Host } from '../../hosts/index.ts';
import {
  beginHold,
  CLEAN_ITEMS_BY_INSTANCE,
  instanceClean,
  instancesHeldOn,
  roleOfCopy,
  type Copy,
  type CopyRole,
} from './clean.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { startActive } from '../move/moves-fixture.ts';

function instanceWith(world: InstancesWorld, facts: Partial<Instance>): Change {
  return put(INSTANCE, idOf(INSTANCE, 'web'), { ...(world.instance('web') as Instance), ...facts });
}

function hostWith(world: InstancesWorld, name: string, facts: Partial<Host>): Change {
  return put(HOST, idOf(HOST, name), { ...(world.host(name) as Host), ...facts });
}

const FORCED = { forcedDown: { reason: 'off', by: 'ann', atMs: 1 } };

/** A copy on h4; the recorded host is h2. */
const CASES: readonly (readonly [
  name: string,
  known: { readonly instance?: Partial<Instance>; readonly home?: Partial<Host>; readonly copy?: Partial<Copy> },
  role: CopyRole,
])[] = [
  ['it-runs-elsewhere', {}, 'superseded'],
  ['it-is-here', { copy: { host: 'h2' } }, 'current'],
  ['it-is-here-and-in-error', { copy: { host: 'h2' }, instance: { state: 'error' } }, 'current'],
  ['it-is-being-rebuilt', { instance: { state: 'rebuilding' } }, 'possibly-last'],
  ['it-is-being-rebuilt-from-here', { instance: { state: 'rebuilding' }, copy: { host: 'h2' } }, 'possibly-last'],
  ['it-moves', { instance: { state: 'moving' } }, 'possibly-last'],
  ['it-is-in-error-elsewhere', { instance: { state: 'error' } }, 'possibly-last'],
  ['its-host-is-forced-down', { home: FORCED }, 'possibly-last'],
  ['its-host-is-only-silent', { home: { connection: { state: 'down', sinceMs: 1 } } }, 'superseded'],
  ['unknown-whether-it-runs-there', { copy: { home: 'h2' } }, 'possibly-last'],
  ['no-other-host-was-known', { copy: { home: 'h5' } }, 'superseded'],
  ['it-never-ran', { instance: { wasActive: false, state: 'error' } }, 'superseded'],
  ['it-is-being-built-anew', { instance: { state: 'building' } }, 'superseded'],
  ['it-is-deleted', { instance: { state: 'deleting' } }, 'superseded'],
  ['it-is-on-the-shelf', { instance: { state: 'shelved' } }, 'superseded'],
];

describe('a copy of an instance', () => {
  test.each(CASES)('%s', async (_name, { instance = {}, home = {}, copy = {} }, role) => {
    const world = await startActive();
    await world.put(instanceWith(world, instance), hostWith(world, 'h2', home));
    expect(roleOfCopy(world.fleet, { instance: 'web', host: 'h4', ...copy })).toBe(role);
  });

  test('that-is-held-lives-on-its-host-while-it-may-be-the-only-one', async () => {
    const world = await startActive();
    await world.put(...beginHold({ instance: 'web', host: 'h4', key: 'k', nowMs: world.nowMs }));
    expect([...instancesHeldOn(world.fleet, 'h4')]).toEqual([]);
    await world.put(hostWith(world, 'h2', FORCED));
    expect([...instancesHeldOn(world.fleet, 'h4')]).toEqual(['web']);
  });
});

test('a-copy-is-held-while-the-host-of-its-successor-is-forced-down, and-goes-as-soon-as-that-is-taken-back', async () => {
  const world = await startActive();
  world.machines.copies.set('h4/web', 'running');
  await world.put(hostWith(world, 'h2', FORCED));
  await world.put(...beginHold({ instance: 'web', host: 'h4', key: 'k', nowMs: world.nowMs }));
  await world.settle();
  expect(world.machines.hostsWith('web')).toEqual(['h2', 'h4']);
  await world.reconnectHost('h2');
  await world.settle();
  expect(world.machines.hostsWith('web')).toEqual(['h2']);
  expect(world.open()).toEqual([]);
});

test('never: a copy is destroyed although the host of its successor was forced down before that was committed', async () => {
  const world = await startActive();
  world.machines.copies.set('h4/web', 'running');
  await world.put(hostWith(world, 'h2', FORCED));
  await world.put(...beginHold({ instance: 'web', host: 'h4', key: 'k', nowMs: world.nowMs }));
  await world.settle();
  const [item] = [...world.fleet.find(CLEAN_ITEMS_BY_INSTANCE, 'web')];
  const { forcedDown: _, ...back } = world.host('h2') as Host;
  await world.put(put(HOST, idOf(HOST, 'h2'), back));
  const [destroy] = instanceClean.plan(world.fleet, [item!], world.nowMs);
  await world.put(hostWith(world, 'h2', FORCED));
  await world.commitPlanned(destroy!);
  await world.settle();
  expect(world.machines.hostsWith('web')).toContain('h4');
});

test('a-copy-that-was-to-be-destroyed-is-held-again-when-its-successor-is-lost-before-its-host-returns', async () => {
  const world = await startActive();
  world.machines.copies.set('h4/web', 'running');
  await world.disconnectHost('h4');
  await world.put(...beginHold({ instance: 'web', host: 'h4', key: 'k', nowMs: world.nowMs }));
  await world.settle();
  const step = (): string | undefined => [...world.fleet.find(CLEAN_ITEMS_BY_INSTANCE, 'web')][0]?.doc.step;
  expect(step()).toBe('destroy-held');
  await world.put(hostWith(world, 'h2', FORCED));
  await world.reconnectHost('h4');
  await world.settle();
  expect(step()).toBe('hold');
  expect(world.machines.hostsWith('web')).toContain('h4');
  await world.reconnectHost('h2');
  await world.settle();
  expect(world.machines.hostsWith('web')).toEqual(['h2']);
  expect(world.open()).toEqual([]);
});

test('never: a host gets the task to destroy a held copy while its successor is lost', async () => {
  const world = await startActive();
  await world.put(...beginHold({ instance: 'web', host: 'h4', key: 'k', nowMs: world.nowMs }));
  const [held] = [...world.fleet.find(CLEAN_ITEMS_BY_INSTANCE, 'web')];
  const [destroy] = instanceClean.plan(world.fleet, [held!], world.nowMs);
  await world.commitPlanned(destroy!);
  const [item] = [...world.fleet.find(CLEAN_ITEMS_BY_INSTANCE, 'web')];
  expect(instanceClean.task?.(item!, { fleet: world.fleet })).toMatchObject({ kind: 'destroy' });
  await world.put(hostWith(world, 'h2', FORCED));
  expect(instanceClean.task?.(item!, { fleet: world.fleet })).toBeUndefined();
});
