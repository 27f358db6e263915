import { describe, expect, test } from 'vitest';
import { idOf, type Change, type Fleet } from '../../fleet/index.ts';
import { beginEvacuation, planEvacuation, type Evacuation } from '../../hosts/index.ts';
import { ITEM, OPERATION } from '../../operations/index.ts';
import { MANAGER, type Manager } from '../model.ts';
import { managerEvacuator } from './evacuator.ts';
import { newFleet, putManager, putOwned } from './managers-fixture.ts';

const ON = { host: 'h1' };
const FOR_HOST: Partial<Manager> = { ...ON, state: 'draining', draining: { by: 'x', atMs: 1, host: 'h1' } };

const tenantsOn = (fleet: Fleet, host: string): string[] => managerEvacuator.inventory(fleet, host).map(({ id }) => id);

describe('the tenant of a host', () => {
  test.each<[string, readonly Change[], readonly string[]]>([
    ['is-the-manager-that-runs-on-it, not-its-nodes', [putManager('m1', ON), putOwned('n1', 'm1')], ['m1']],
    ['is-no-manager-elsewhere', [putManager('m1', { host: 'h2' })], []],
    ['is-one-that-drains', [putManager('m1', FOR_HOST)], ['m1']],
    [
      'is-no-manager-that-has-nothing-left',
      [putManager('m1', { ...FOR_HOST, draining: { by: 'x', atMs: 1, emptyAtMs: 2 } })],
      [],
    ],
    ['is-none-that-is-lost', [putManager('m1', { ...ON, state: 'lost' }), putOwned('n1', 'm1')], []],
    ['is-none-that-stopped', [putManager('m1', { ...ON, state: 'stopped' })], []],
  ])('%s', (_name, changes, expected) => {
    expect(tenantsOn(newFleet(...changes), 'h1')).toEqual(expected);
  });

  test('leaves once: what drains already is not begun again', () => {
    const fleet = newFleet(putManager('m1', FOR_HOST), putManager('m2', ON));
    expect([...(managerEvacuator.listRemainingTenants?.(fleet, 'h1') ?? [])].map(({ id }) => id)).toEqual(['m2']);
    expect(managerEvacuator.countLeaving(fleet, 'h1')).toBe(1);
  });
});

describe('the plan', () => {
  const planned = (...changes: Change[]): Evacuation | undefined => {
    const fleet = newFleet(putManager('m1', ON), putOwned('n1', 'm1'), ...changes);
    const tenants = managerEvacuator.inventory(fleet, 'h1');
    return planEvacuation(fleet, managerEvacuator, [{ host: 'h1', tenants }], { nowMs: 1 })[0]?.evacuation;
  };

  test('is to drain to the others', () => {
    expect(planned(putManager('m2', { host: 'h2' }))).toEqual({ kind: 'move', how: 'drain', to: 'h2' });
    expect(planned(putManager('m2'))).toEqual({ kind: 'move', how: 'drain', to: 'm2' });
  });

  test.each<[string, readonly Change[]]>([
    ['nobody', []],
    ['another-on-the-same-host', [putManager('m2', ON)]],
    ['a-lost-one', [putManager('m2', { state: 'lost' })]],
  ])('waits where there is %s to take over', (_name, changes) => {
    expect(planned(...changes)).toMatchObject({
      kind: 'wait',
      reason: { code: 'no-other-manager', manager: 'm1', nodes: 1 },
    });
  });

  test('drains one without nodes although its process is gone', () => {
    const fleet = newFleet(putManager('m1', ON));
    const leaver = { host: 'h1', tenants: managerEvacuator.inventory(fleet, 'h1') };
    expect(planEvacuation(fleet, managerEvacuator, [leaver], { nowMs: 1 })[0]?.evacuation.kind).toBe('move');
  });

  test('begins one operation for the managers of a host, which ends when the host stays', () => {
    const fleet = newFleet(putManager('m1', ON), putManager('m2', ON), putManager('m3'), putOwned('n1', 'm1'));
    const leaver = { host: 'h1', tenants: managerEvacuator.inventory(fleet, 'h1') };
    const plan = planEvacuation(fleet, managerEvacuator, [leaver], { nowMs: 1 });
    const how = { operation: idOf(OPERATION, 'drain-7.h1'), by: 'scale-in', nowMs: 100, deadlineMs: 5000 };
    const begun = beginEvacuation(fleet, managerEvacuator, plan, how);
    if ('code' in begun) throw new Error(begun.message);
    fleet.apply(2, begun.changes);
    expect([...fleet.all(ITEM)].map(({ id }): string => id)).toEqual([
      'drain-7.h1.manager-drains.m1',
      'drain-7.h1.manager-drains.m2',
    ]);
    for (const name of ['m1', 'm2'])
      expect(fleet.get(MANAGER, idOf(MANAGER, name))?.doc.draining).toEqual({ by: 'scale-in', atMs: 100, host: 'h1' });
    expect(fleet.get(OPERATION, idOf(OPERATION, 'drain-7.h1.manager-drains'))?.doc.kind).toBe('manager-drain');
  });
});

test('never a removed host with a manager: its place is forgotten, and the drain that its scale-in requested', () => {
  const other = { ...ON, state: 'draining', draining: { by: 'x', atMs: 1 } } as const;
  const fleet = newFleet(
    putManager('m1', FOR_HOST),
    putManager('m2', other),
    putManager('m3', { ...ON, state: 'lost' }),
  );
  fleet.apply(2, managerEvacuator.abandon(fleet, 'h1', { by: 'scale-in', nowMs: 5 }));
  const docs = ['m1', 'm2', 'm3'].map((name) => fleet.get(MANAGER, idOf(MANAGER, name))?.doc);
  expect(docs.map((doc) => [doc?.host, doc?.state, doc?.draining?.by])).toEqual([
    [undefined, 'live', undefined],
    [undefined, 'draining', 'x'],
    [undefined, 'lost', undefined],
  ]);
  const change = {
    kind: MANAGER.name,
    before: undefined,
    after: { id: idOf(MANAGER, 'm1'), revision: 1, doc: { host: 'h1' } },
  };
  expect(managerEvacuator.hostsAffectedBy?.(change, fleet)).toEqual(['h1']);
});
