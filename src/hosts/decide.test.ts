import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, remove, type Change } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { accessModel } from '../access/index.ts';
import { alarmsModel } from '../alarms/index.ts';
import { ITEM, OPERATION, operationsModel } from '../operations/index.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import {
  clearForceDown,
  disableHost,
  editHost,
  enableHost,
  forceDownHost,
  joinHosts,
  type HostSpec,
} from './decide.ts';
import { HOST_REPRESENTATION } from './host-representation.ts';
import { hostsModel } from './fleet-model.ts';
import { HOST, isTombstoned, type Host } from './model.ts';
import { PENDING_CLEAN_UP, pendingId, recordPendingCleanUps } from './scale-in/pending-clean-up.ts';

function fleetWith(...changes: Change[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
  fleet.apply(1, [site, ...changes]);
  return fleet;
}

const join = (fleet: Fleet, hosts: readonly HostSpec[]): Decision<unknown> =>
  joinHosts(fleet, { hosts, operation: idOf(OPERATION, 'op-1'), deadlineMs: 1000, by: 'ann', nowMs: 5 });

function joined(...names: string[]): Fleet {
  const fleet = fleetWith();
  const decision = join(
    fleet,
    names.map((name) => ({ name })),
  );
  if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
  fleet.apply(2, decision.changes);
  return fleet;
}

describe('joining hosts', () => {
  test('registers-every-host-with-operation-and-items-in-one-commit', () => {
    const decision = join(fleetWith(), [{ name: 'c1' }, { name: 'c2', zone: 'az1', capacity: { vcpus: 8 } }]);
    expect(decision.kind === 'accept' && decision.changes.map(({ kind, id }) => `${kind}/${id}`)).toEqual([
      'host/c1',
      'host/c2',
      'operation/op-1',
      'item/op-1.c1',
      'item/op-1.c2',
    ]);
  });

  test('every-document-is-valid-and-an-item-is-under-1-kb', () => {
    const decision = join(fleetWith(), [
      { name: 'c1', tunnelAddress: '192.0.2.7', capacity: { vcpus: 8, ratios: { vcpus: 2 } } },
    ]);
    if (decision.kind !== 'accept') throw new Error('refused');
    for (const change of decision.changes) {
      const kind = [HOST, OPERATION, ITEM].find((one) => one.name === change.kind);
      expect(kind?.check(change.doc)).toBeUndefined();
      if (change.kind === 'item') expect(JSON.stringify(change.doc).length).toBeLessThan(1024);
    }
    const host = decision.changes[0]?.doc as Host;
    expect(host.capacity).toEqual({ vcpus: 8, memoryMiB: 0, diskGiB: 0, ratios: { vcpus: 2, memory: 1, disk: 1 } });
  });

  test.each([
    [
      'one bad name refuses all, every bad name listed',
      [{ name: 'c1' }, { name: 'c2' }, { name: 'c9' }],
      'host-exists',
      ['c1', 'c2'],
    ],
    ['a name twice in the list', [{ name: 'c8' }, { name: 'c9' }, { name: 'c8' }], 'duplicate-host', ['c8']],
  ])('%s', (_name, hosts, code, named) => {
    const decision = join(joined('c1', 'c2'), hosts);
    expect(decision).toMatchObject({ kind: 'refuse', refusal: { code, facts: { hosts: named } } });
  });

  test('a-host-left-joining-when-its-operation-is-over-may-be-joined-anew', () => {
    const fleet = joined('c1');
    expect(join(fleet, [{ name: 'c1' }])).toMatchObject({ refusal: { code: 'host-exists' } });
    const item = fleet.get(ITEM, idOf(ITEM, 'op-1.c1'))?.doc;
    fleet.apply(3, [put(ITEM, idOf(ITEM, 'op-1.c1'), { ...item!, state: 'failed' })]);
    expect(join(fleet, [{ name: 'c1' }])).toMatchObject({ kind: 'accept' });
  });

  test('an-unknown-site-is-refused-by-field', () => {
    const decision = join(fleetWith(), [{ name: 'c1' }, { name: 'c2', site: 'mars' }]);
    expect(decision).toMatchObject({ kind: 'refuse', refusal: { code: 'unknown-site', field: '/hosts/1/site' } });
  });
});

describe('maintenance', () => {
  const who = { id: 'c1', by: 'ann', nowMs: 9 };

  function after(fleet: Fleet, decision: Decision<Host>): Host {
    if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
    if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
    return fleet.get(HOST, idOf(HOST, 'c1'))?.doc as Host;
  }

  test('disable-keeps-who-when-and-why-and-enable-clears-it', () => {
    const fleet = joined('c1');
    const before = fleet.get(HOST, idOf(HOST, 'c1'))?.doc as Host;
    const disabled = after(fleet, disableHost(fleet, { ...who, reason: 'new fans' }));
    expect(disabled.disabled).toEqual({ reason: 'new fans', by: 'ann', atMs: 9 });
    const enabled = after(fleet, enableHost(fleet, who));
    expect(enabled).toEqual({ ...before, changedBy: 'ann', changedAtMs: 9 });
  });

  test('repeating-an-audited-command-commits-nothing', () => {
    const fleet = joined('c1');
    after(fleet, disableHost(fleet, { ...who, reason: 'new fans' }));
    expect(disableHost(fleet, { ...who, by: 'bob', reason: 'new fans' })).toMatchObject({
      kind: 'accept',
      changes: [],
    });
    expect(clearForceDown(fleet, who)).toMatchObject({ kind: 'accept', changes: [] });
  });

  test('force-down-keeps-its-author', () => {
    const fleet = joined('c1');
    const forced = after(fleet, forceDownHost(fleet, { ...who, reason: 'seen dark' }));
    expect(forced.forcedDown).toEqual({ reason: 'seen dark', by: 'ann', atMs: 9 });
    expect(after(fleet, clearForceDown(fleet, who)).forcedDown).toBeUndefined();
  });

  test('an-edit-changes-only-what-it-names', () => {
    const fleet = joined('c1');
    const edited = after(fleet, editHost(fleet, { ...who, edit: { traits: ['GPU'], tunnelAddress: '192.0.2.1' } }));
    expect(edited).toMatchObject({ traits: ['GPU'], tunnelAddress: '192.0.2.1', zone: 'default', state: 'joining' });
    expect(after(fleet, editHost(fleet, { ...who, edit: { tunnelAddress: null } })).tunnelAddress).toBeUndefined();
  });

  test('a-removed-host-that-is-registered-in-another-zone-keeps-the-zones-of-peers-that-have-tunnels-to-it', () => {
    const fleet = joined('c1', 'c2', 'c3');
    const c1 = fleet.get(HOST, idOf(HOST, 'c1'))!.doc;
    const pending = recordPendingCleanUps(['c2'], 'c1', { key: 'k', nowMs: 5 });
    fleet.apply(3, [put(HOST, idOf(HOST, 'c1'), { ...c1, state: 'removed' }), ...pending]);
    const zonesIn = (transportZone?: string): unknown => {
      const decision = join(fleet, [{ name: 'c1', ...(transportZone !== undefined && { transportZone }) }]);
      const host = decision.kind === 'accept' && decision.changes.find(({ kind }) => kind === 'host');
      return host && (host.doc as Host).leftZones;
    };
    expect(zonesIn('edge')).toEqual(['default']);
    expect(zonesIn()).toBeUndefined();
    fleet.apply(4, [remove(PENDING_CLEAN_UP, pendingId('c2', 'c1'))]);
    expect(zonesIn('edge')).toBeUndefined();
  });

  test('zones-that-a-host-was-edited-out-of-are-kept, the last first, and are part of no representation', () => {
    const fleet = joined('c1');
    const zones = (transportZone: string | null): unknown => {
      const doc = after(fleet, editHost(fleet, { ...who, edit: { transportZone } }));
      expect(HOST_REPRESENTATION.toJson(doc)).not.toHaveProperty('leftZones');
      return doc.leftZones;
    };
    expect(after(fleet, editHost(fleet, { ...who, edit: { traits: ['x'] } })).leftZones).toBeUndefined();
    expect(zones('edge')).toEqual(['default']);
    expect(zones('edge')).toEqual(['default']);
    expect(zones('rack')).toEqual(['edge', 'default']);
    // The zone that it is in now is not among those that it left.
    expect(zones(null)).toEqual(['rack', 'edge']);
    for (let nth = 0; nth < 40; nth += 1) zones(`z${nth}`);
    expect(zones('end')).toHaveLength(16);
  });

  test.each([
    ['disable', () => disableHost(fleetWith(), { ...who, reason: 'x' })],
    ['enable', () => enableHost(fleetWith(), who)],
    ['force-down', () => forceDownHost(fleetWith(), { ...who, reason: 'x' })],
    ['edit', () => editHost(fleetWith(), { ...who, edit: {} })],
  ])('%s-of-an-unknown-host-is-refused', (_name, decide) => {
    expect(decide()).toMatchObject({ kind: 'refuse', refusal: { kind: 'not-found', code: 'unknown-host' } });
  });
});

test.each([
  ['joining', false],
  ['active', false],
  ['draining', true],
  ['drained', true],
  ['finalizing', true],
  ['removed', false],
  ['recovering', false],
] as const)('a %s host is tombstoned: %s', (state, tombstoned) => {
  const host = joined('c1').get(HOST, idOf(HOST, 'c1'))?.doc as Host;
  expect(isTombstoned({ ...host, state })).toBe(tombstoned);
});

test.each([
  ['an unknown field, with a suggestion', { taits: [] }, '/taits: is not a known field (did you mean "traits"?)'],
  ['a number as text', { baseWeight: '3' }, '/baseWeight: must be integer'],
  ['a state that does not exist', { state: 'gone' }, '/state: must be one of "joining", "active"'],
  ['an invalid address', { tunnelAddress: '192.0.2.300' }, '/tunnelAddress'],
])('a host document with %s is refused by name', (_name, wrong, problem) => {
  const host = joined('c1').get(HOST, idOf(HOST, 'c1'))?.doc as Host;
  expect(HOST.check(host)).toBeUndefined();
  expect(HOST.check({ ...host, ...wrong })).toContain(problem);
});
