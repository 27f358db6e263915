import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, type AppliedChange, type Change } from '../../fleet/index.ts';
import { HOST, joinHosts, selfPart } from '../../hosts/index.ts';
import { ITEM, OPERATION, type Item, type Operation } from '../../operations/index.ts';
import { SITE } from '../../sites/index.ts';
import { canonical, digestOf } from '../protocol/digest.ts';
import { KINDS, registry } from './control-plane-fixture.ts';
import { findAffectedHosts, composeView, isOutdated, type ViewSource } from './compose-view.ts';

const SOURCE: ViewSource = { parts: [selfPart], kinds: KINDS };
const AUTHORITY = { journalId: 'j1', leaseEpoch: 3 };
const OP = idOf(OPERATION, 'op-1');
const C1 = idOf(ITEM, 'op-1.c1');

function fleetOf(...names: string[]): Fleet {
  const fleet = new Fleet(registry());
  apply(fleet, [put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 })]);
  const hosts = names.map((name) => ({ name }));
  const joined = joinHosts(fleet, { hosts, operation: OP, deadlineMs: 1000, by: 'test', nowMs: 0 });
  if (joined.kind !== 'accept') throw new Error(joined.refusal.message);
  apply(fleet, joined.changes);
  return fleet;
}

function apply(fleet: Fleet, changes: readonly Change[]): AppliedChange[] {
  return fleet.apply(fleet.revision + 1, changes);
}

function editItem(fleet: Fleet, edit: Partial<Item>): AppliedChange[] {
  return apply(fleet, [put(ITEM, C1, { ...fleet.get(ITEM, C1)!.doc, ...edit })]);
}

function editOperation(fleet: Fleet, edit: Partial<Operation>): void {
  apply(fleet, [put(OPERATION, OP, { ...fleet.get(OPERATION, OP)!.doc, ...edit })]);
}

const viewOf = (fleet: Fleet, host = 'c1'): ReturnType<typeof composeView> =>
  composeView(fleet, SOURCE, host, AUTHORITY);

describe('a view', () => {
  test('holds-parts-tasks-and-what-it-was-made-of', () => {
    const fleet = fleetOf('c1');
    editItem(fleet, { state: 'running', step: 'preflight', attempt: 2 });
    expect(viewOf(fleet)).toMatchObject({
      host: 'c1',
      stamp: { journalId: 'j1', leaseEpoch: 3, revision: 3 },
      parts: { self: { site: 'central', state: 'joining', enabled: true, tombstoned: false } },
      tasks: [{ id: 'op-1.c1:preflight:2', kind: 'preflight', args: {} }],
    });
  });

  test('has-no-part-and-no-task-of-another-host', () => {
    const fleet = fleetOf('c1', 'c2');
    editItem(fleet, { state: 'running', step: 'preflight' });
    expect(viewOf(fleet, 'c2').tasks).toEqual([]);
    expect(viewOf(fleet, 'nobody').parts).toEqual({});
  });

  test.each([
    ['cancelling', { state: 'cancelling' }],
    ['stopped', { stopped: true }],
    ['failed', { state: 'failed' }],
  ] as const)('has-no-task-of-an-operation-that-is-%s', (_name, edit) => {
    const fleet = fleetOf('c1');
    editItem(fleet, { state: 'running', step: 'preflight' });
    editOperation(fleet, edit);
    expect(viewOf(fleet).tasks).toEqual([]);
  });

  test('keeps-its-digest-when-only-the-revision-or-the-holder-changes', () => {
    const fleet = fleetOf('c1', 'c2');
    const before = viewOf(fleet);
    const c2 = fleet.get(HOST, idOf(HOST, 'c2'))!;
    apply(fleet, [put(HOST, c2.id, { ...c2.doc, baseWeight: 1 })]);
    const after = composeView(fleet, SOURCE, 'c1', { ...AUTHORITY, leaseEpoch: 4 });
    expect(after.digest).toBe(before.digest);
    expect(after.stamp.revision).toBe(before.stamp.revision + 1);
  });

  test('changes-its-digest-with-a-part-and-with-a-task', () => {
    const fleet = fleetOf('c1');
    const seen = [viewOf(fleet).digest];
    editItem(fleet, { state: 'running', step: 'preflight' });
    seen.push(viewOf(fleet).digest);
    const c1 = fleet.get(HOST, idOf(HOST, 'c1'))!;
    apply(fleet, [put(HOST, c1.id, { ...c1.doc, zone: 'other' })]);
    seen.push(viewOf(fleet).digest);
    expect(new Set(seen).size).toBe(3);
  });

  test('is-news-when-it-differs-when-another-holder-confirms-and-to-one-that-has-none', () => {
    const view = viewOf(fleetOf('c1'));
    const have = { digest: view.digest, leaseEpoch: 3 };
    expect(isOutdated(have, view)).toBe(false);
    expect(isOutdated({ ...have, digest: 'other' }, view)).toBe(true);
    expect(isOutdated({ ...have, leaseEpoch: 2 }, view)).toBe(true);
    expect(isOutdated({}, view)).toBe(true);
  });
});

describe('a commit affects', () => {
  test('the-host-that-it-changes-and-the-host-of-an-item-before-and-after', () => {
    const fleet = fleetOf('c1', 'c2');
    const [change] = editItem(fleet, { host: 'c2' });
    expect(findAffectedHosts(fleet, SOURCE.parts, change!)).toEqual(new Set(['c1', 'c2']));
    const c2 = fleet.get(HOST, idOf(HOST, 'c2'))!;
    const [host] = apply(fleet, [put(HOST, c2.id, { ...c2.doc, zone: 'other' })]);
    expect(findAffectedHosts(fleet, SOURCE.parts, host!)).toEqual(new Set(['c2']));
  });

  test('no-host-when-it-is-about-something-else', () => {
    const fleet = fleetOf('c1');
    const [change] = apply(fleet, [put(OPERATION, OP, { ...fleet.get(OPERATION, OP)!.doc, title: 'other' })]);
    expect(findAffectedHosts(fleet, SOURCE.parts, change!)).toEqual(new Set());
  });
});

describe('a digest', () => {
  test('does-not-depend-on-the-order-of-fields-nor-on-absent-ones', () => {
    expect(digestOf({ a: 1, b: [{ c: 2, d: 3 }] })).toBe(digestOf({ b: [{ d: 3, c: 2 }], a: 1, e: undefined }));
  });

  test('depends-on-the-order-of-lists-and-on-types', () => {
    const values = [[1, 2], [2, 1], ['1', 2], { 0: 1, 1: 2 }, null, 'null', {}, []];
    expect(new Set(values.map((value) => digestOf(value))).size).toBe(values.length);
  });

  test('is-taken-of-what-json-would-say', () => {
    const value = { b: [1, 'x', null, { z: true }], a: { c: 'ü"' } };
    expect(JSON.parse(canonical(value))).toEqual(value);
  });
});
