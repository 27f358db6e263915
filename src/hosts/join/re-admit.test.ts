import { describe, expect, test } from 'vitest';
import { accessModel, TOKEN } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { Fleet, idOf, put, Registry, type Change } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_TARGET, OPERATION, operationsModel, type StoredItem } from '../../operations/index.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { findHost, joinHosts } from '../decide.ts';
import { hostJoin } from './join.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST, type Host } from '../model.ts';
import { hostChange } from '../preview/preview-fixture.ts';
import { abandonJoin, reAdmitHost } from './re-admit.ts';

const IDENTITY = { datapathId: 'fffffffffffffffe', systemId: 'sys-1' };
const FORCED = { reason: 'unplugged', by: 'ann', atMs: 1 };

function fleetOf(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
  fleet.apply(1, [site, ...changes]);
  return fleet;
}

const token = (id: string, revoked = false): Change =>
  put(TOKEN, idOf(TOKEN, id), {
    name: id,
    role: 'agent',
    host: 'c1',
    hash: 'a'.repeat(64),
    createdAtMs: 0,
    createdBy: 'test',
    ...(revoked && { revoked: { by: 'test', atMs: 1 } }),
  });

const quarantined = (because: 'operator-fenced' | 'identity' | 'removed') => ({ because, atMs: 3 }) as const;
const commandFor = (id: string) => ({ id, reason: 'reinstalled', by: 'ann', nowMs: 9 });

describe('re-admitting a host', () => {
  test.each(['operator-fenced', 'identity'] as const)('ends-the-quarantine-%s', (because) => {
    const fleet = fleetOf(
      hostChange({ name: 'c1', quarantined: quarantined(because), forcedDown: FORCED, switch: IDENTITY }),
    );
    const decision = reAdmitHost(fleet, commandFor('c1'));
    if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
    expect(decision.answer).toMatchObject({ state: 'active', changedBy: 'ann', changedAtMs: 9, switch: IDENTITY });
    expect(decision.answer).not.toHaveProperty('quarantined');
    expect(decision.answer).not.toHaveProperty('forcedDown');
  });

  test('what-was-built-elsewhere-before-does-not-count-against-it-any-more', () => {
    const leaving = { operation: 'op-1', drain: true, by: 'ann', atMs: 2, rebuilt: true };
    const fleet = fleetOf(
      hostChange({ name: 'c1', state: 'draining', quarantined: quarantined('operator-fenced'), leaving }),
    );
    const decision = reAdmitHost(fleet, commandFor('c1'));
    if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
    expect(decision.answer.leaving).toEqual({ operation: 'op-1', drain: true, by: 'ann', atMs: 2 });
  });

  test('the-switch-of-a-removed-host-is-its-own-from-then-on', () => {
    const fleet = fleetOf(
      hostChange({ name: 'c1', state: 'removed', switch: IDENTITY }),
      hostChange({ name: 'c9', quarantined: { ...quarantined('identity'), as: 'c1' }, switch: IDENTITY }),
    );
    const decision = reAdmitHost(fleet, commandFor('c9'));
    if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
    fleet.apply(2, decision.changes);
    expect(findHost(fleet, 'c9')?.doc).toMatchObject({ switch: IDENTITY });
    expect(findHost(fleet, 'c1')?.doc.state).toBe('removed');
    expect(findHost(fleet, 'c1')?.doc).not.toHaveProperty('switch');
  });

  test('is-refused-while-another-host-in-the-fleet-shows-the-same-switch', () => {
    const fleet = fleetOf(
      hostChange({ name: 'c1', switch: { datapathId: IDENTITY.datapathId } }),
      hostChange({ name: 'c9', quarantined: quarantined('identity'), switch: IDENTITY }),
    );
    expect(reAdmitHost(fleet, commandFor('c9'))).toMatchObject({
      refusal: { kind: 'conflict', code: 'shared-identity', facts: { host: 'c9', other: 'c1' } },
    });
  });

  test('of-a-trusted-host-changes-nothing', () => {
    expect(reAdmitHost(fleetOf(hostChange({ name: 'c1' })), commandFor('c1'))).toMatchObject({ changes: [] });
  });

  test.each([
    ['of-a-removed-host-is-by-joining-it', 'c1', 'host-removed'],
    ['of-an-unknown-host-is-refused', 'x', 'unknown-host'],
  ])('%s', (_name, id, code) => {
    const fleet = fleetOf(hostChange({ name: 'c1', state: 'removed', quarantined: quarantined('removed') }));
    expect(reAdmitHost(fleet, commandFor(id))).toMatchObject({ refusal: { code } });
  });
});

describe('joining a removed host again', () => {
  const removed = hostChange({
    name: 'c1',
    state: 'removed',
    switch: IDENTITY,
    quarantined: quarantined('removed'),
    credential: 'tk-old',
  });
  const command = {
    hosts: [{ name: 'c1' }],
    operation: idOf(OPERATION, 'op-1'),
    deadlineMs: 1000,
    by: 'ann',
    nowMs: 5,
  };

  function joined(): Fleet {
    const fleet = fleetOf(removed, token('tk-old'), token('tk-older', true));
    const decision = joinHosts(fleet, command);
    if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
    fleet.apply(2, decision.changes);
    return fleet;
  }

  test('makes-it-a-new-host-that-nothing-old-is-good-for', () => {
    const fleet = joined();
    const { doc } = findHost(fleet, 'c1') ?? {};
    expect(doc).toMatchObject({ state: 'joining', readmitted: true, switch: IDENTITY, serviceVersion: 0 });
    expect(doc).not.toHaveProperty('credential');
    expect(doc).not.toHaveProperty('quarantined');
    expect(HOST.check(doc)).toBeUndefined();
    expect(fleet.get(TOKEN, idOf(TOKEN, 'tk-old'))?.doc.revoked).toEqual({ by: 'ann', atMs: 5 });
    expect(fleet.get(TOKEN, idOf(TOKEN, 'tk-older'))?.doc.revoked).toEqual({ by: 'test', atMs: 1 });
  });

  test('keeps-its-mark-when-the-join-is-asked-for-again', () => {
    const fleet = fleetOf(hostChange({ name: 'c1', state: 'joining', readmitted: true, switch: IDENTITY }));
    const decision = joinHosts(fleet, command);
    if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
    expect(decision.changes[0]?.doc).toMatchObject({ readmitted: true, switch: IDENTITY });
  });

  test('cancelled-it-leaves-as-others-do, without its credential and still identified by its switch', () => {
    const host = findHost(joined(), 'c1');
    if (host === undefined) throw new Error('no host');
    const connected = { ...host.doc, credential: 'tk-new', connection: { state: 'up' as const, sinceMs: 1 } };
    const { doc } = abandonJoin({ ...host, doc: connected }, 'op-9', { by: 'ann', nowMs: 7 });
    const leaving = { operation: 'op-9', drain: false, by: 'ann', atMs: 7 };
    expect(doc).toMatchObject({ name: 'c1', state: 'finalizing', switch: IDENTITY, leaving });
    expect(doc).toMatchObject({ connection: { state: 'down', sinceMs: 7 } });
    expect(doc).not.toHaveProperty('credential');
    expect(HOST.check(doc)).toBeUndefined();
  });

  test('ended-by-cancelling-its-operation', () => {
    const fleet = joined();
    const [item] = fleet.find(OPEN_ITEMS_BY_TARGET, 'host/c1');
    const undone = hostJoin.undo?.(fleet, item as StoredItem, 8);
    expect(undone?.changes[0]?.doc).toMatchObject({ state: 'finalizing', switch: IDENTITY });
    expect(undone?.changes.map(({ kind }) => kind)).toContain('operation');
  });

  test('a-new-host-that-did-not-come-in-is-forgotten', () => {
    const host = findHost(fleetOf(hostChange({ name: 'c2', state: 'joining' })), 'c2');
    if (host === undefined) throw new Error('no host');
    expect(abandonJoin(host, 'op-9', { by: 'ann', nowMs: 7 })).toEqual({ kind: 'host', id: 'c2', doc: null });
  });

  test('once-in-service-nothing-tells-of-its-first-life', () => {
    const active: Partial<Host> = { connection: { state: 'up', sinceMs: 0 }, credential: 'tk-new' };
    const fleet = fleetOf(hostChange({ name: 'c1', state: 'joining', readmitted: true, ...active }));
    const item = {
      id: 'op-1.c1',
      revision: 1,
      doc: { target: { kind: 'host', id: 'c1' }, step: 'activate', state: 'running', attempt: 1 },
    };
    const [next] = hostJoin.plan(fleet, [item as never], 9);
    if (next?.kind !== 'record') throw new Error('no step');
    expect(next.changes[0]?.doc).toMatchObject({ state: 'active' });
    expect(next.changes[0]?.doc).not.toHaveProperty('readmitted');
  });
});
