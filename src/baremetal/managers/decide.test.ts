import { describe, expect, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { idOf, type Change, type Fleet } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { HOST, type Host } from '../../hosts/index.ts';
import { MANAGER, type Manager } from '../model.ts';
import { putSite } from '../nodes-fixture.ts';
import {
  clearDraining,
  forgetManager,
  loseManager,
  markDraining,
  registerManager,
  stopManager,
  type RegisterManager,
} from './decide.ts';
import { reconcileManagers } from './loss.ts';
import { DRAINING, newFleet, putManager, putOwned } from './managers-fixture.ts';

const BY = { by: 'm1-token', nowMs: 200 };
const REGISTER: RegisterManager = { manager: 'm1', holder: 'm1-1', leaseEpoch: 3, version: '1.0.0', ...BY };

function putHost(id: string, state: Host['state'], site = 'central'): Change {
  return {
    kind: HOST.name,
    id,
    doc: {
      name: id,
      site,
      state,
      connection: { state: 'up', sinceMs: 0 },
      aggregates: [],
      traits: [],
    },
  };
}

function answerOf<A>(fleet: Fleet, decision: Decision<A>): A {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  fleet.apply(fleet.revision + 1, decision.changes);
  for (const { kind, doc } of decision.changes)
    if (doc !== null) expect(fleet.registry.kinds.get(kind)?.check(doc)).toBeUndefined();
  return decision.answer;
}

const codeOf = (decision: Decision<unknown>): string =>
  decision.kind === 'refuse' ? decision.refusal.code : 'accepted';
const managerOf = (fleet: Fleet, name = 'm1'): Manager | undefined => fleet.get(MANAGER, idOf(MANAGER, name))?.doc;

describe('a registration', () => {
  test('makes a manager live, and is none the second time', () => {
    const fleet = newFleet();
    answerOf(fleet, registerManager(fleet, { ...REGISTER, manager: 'M1' }));
    expect(managerOf(fleet)).toEqual({
      ...{ name: 'm1', version: '1.0.0', state: 'live', holder: 'm1-1', leaseEpoch: 3, sinceMs: 200 },
      ...{ changedBy: 'm1-token', changedAtMs: 200 },
    });
    expect(registerManager(fleet, { ...REGISTER, nowMs: 300 })).toMatchObject({ kind: 'accept', changes: [] });
  });

  test('under another lease begins anew, and keeps the drain that was requested', () => {
    const fleet = newFleet(putManager('m1', { ...DRAINING, state: 'lost' }));
    answerOf(fleet, registerManager(fleet, { ...REGISTER, holder: 'm1-2', leaseEpoch: 4 }));
    expect(managerOf(fleet)).toMatchObject({ state: 'draining', holder: 'm1-2', leaseEpoch: 4, sinceMs: 200 });
    expect(managerOf(fleet)?.draining).toEqual(DRAINING.draining);
  });

  test('under an earlier lease comes too late', () => {
    const fleet = newFleet(putManager('m1', { leaseEpoch: 4 }));
    expect(codeOf(registerManager(fleet, REGISTER))).toBe('manager-name-taken');
  });

  test('on a host is in its site, and leaves the place of the one before', () => {
    const fleet = newFleet(putSite('central'), putSite('edge'), putHost('h1', 'active'));
    answerOf(fleet, registerManager(fleet, { ...REGISTER, host: 'h1' }));
    expect(managerOf(fleet)).toMatchObject({ host: 'h1', site: 'central' });
    answerOf(fleet, registerManager(fleet, { ...REGISTER, site: 'edge' }));
    expect(managerOf(fleet)).toMatchObject({ site: 'edge' });
    expect(managerOf(fleet)).not.toHaveProperty('host');
  });

  test.each<[string, Partial<RegisterManager>, string]>([
    ['unknown-host', { host: 'h9' }, 'unknown-host'],
    ['removed-host', { host: 'h2' }, 'unknown-host'],
    ['unknown-site', { site: 'nowhere' }, 'unknown-site'],
  ])('is-refused-with-%s', (_name, more, code) => {
    const fleet = newFleet(putHost('h2', 'removed'));
    const refused = registerManager(fleet, { ...REGISTER, ...more });
    expect(refused).toMatchObject({ refusal: { kind: 'invalid', code } });
  });
});

describe('the end of a tenure', () => {
  test.each<[string, Partial<RegisterManager>, Partial<Manager>, string]>([
    ['of-the-process-itself', {}, {}, 'stopped'],
    ['of-one-that-drains', {}, DRAINING, 'stopped'],
    ['not-of-another-process', { holder: 'm1-2' }, {}, 'live'],
    ['not-of-a-later-lease', {}, { leaseEpoch: 4 }, 'live'],
    ['not-of-one-that-was-lost', {}, { state: 'lost' }, 'lost'],
  ])('a-stop, %s', (_name, command, facts, state) => {
    const fleet = newFleet(putManager('m1', facts));
    answerOf(fleet, stopManager(fleet, { ...REGISTER, ...command }));
    expect(managerOf(fleet)?.state).toBe(state);
  });

  test.each<[string, Partial<Manager>, string]>([
    ['of-the-lease-that-ran-out', {}, 'lost'],
    ['of-one-that-drains', DRAINING, 'lost'],
    ['not-of-one-that-registered-anew', { leaseEpoch: 4 }, 'live'],
    ['not-of-one-that-stopped', { state: 'stopped' }, 'stopped'],
  ])('a-loss, %s', (_name, facts, state) => {
    const fleet = newFleet(putManager('m1', facts));
    fleet.apply(2, loseManager(fleet, { manager: 'm1', leaseEpoch: 3, ...BY }));
    expect(managerOf(fleet)?.state).toBe(state);
  });

  test('keeps a drain for the next tenure', () => {
    const fleet = newFleet(putManager('m1', DRAINING));
    answerOf(fleet, stopManager(fleet, REGISTER));
    expect(managerOf(fleet)?.draining).toEqual(DRAINING.draining);
  });
});

describe('a look at all managers', () => {
  const look = (fleet: Fleet, lost: readonly string[] = []): string[] => {
    const names = lost.map((manager) => ({ manager, leaseEpoch: 3 }));
    fleet.apply(fleet.revision + 1, reconcileManagers(fleet, { lost: names, by: 'managers', nowMs: 200 }));
    expect(reconcileManagers(fleet, { lost: names, by: 'managers', nowMs: 300 })).toEqual([]);
    return [...fleet.all(ALARM)].map(({ id }): string => id);
  };

  test.each<[string, readonly Change[], readonly string[], readonly string[]]>([
    ['nothing-without-managers', [], [], []],
    ['nothing-while-one-is-live', [putManager('m1'), putManager('m2', { state: 'stopped' })], [], []],
    ['one-lost-in-the-same-commit', [putManager('m1'), putManager('m2')], ['m1'], ['manager-lost:m1']],
    ['the-last-one-lost', [putManager('m1')], ['m1'], ['manager-lost:m1', 'no-manager-alive:fleet']],
    ['all-stopped-without-nodes', [putManager('m1', { state: 'stopped' })], [], []],
    [
      'all-stopped-with-nodes',
      [putManager('m1', { state: 'stopped' }), putOwned('n1', 'm1')],
      [],
      ['no-manager-alive:fleet'],
    ],
    ['one-that-drains-is-alive', [putManager('m1', DRAINING), putOwned('n1', 'm1')], [], []],
  ])('raises: %s', (_name, changes, lost, alarms) => {
    expect(look(newFleet(...changes), lost)).toEqual(alarms);
  });

  test('clears what is so no more', () => {
    const fleet = newFleet(putManager('m1'));
    look(fleet, ['m1']);
    answerOf(fleet, registerManager(fleet, { ...REGISTER, leaseEpoch: 4 }));
    expect(look(fleet)).toEqual([]);
  });

  test.each<[string, readonly Change[], string | undefined, string]>([
    ['goes-on-while-the-host-leaves', [putHost('h1', 'draining')], 'h1', 'draining'],
    ['ends-when-the-host-stays', [putHost('h1', 'active')], 'h1', 'live'],
    ['ends-with-a-host-that-is-gone', [], 'h1', 'live'],
    ['goes-on-when-an-operator-asked-for-it', [putHost('h1', 'active')], undefined, 'draining'],
  ])('a-drain %s', (_name, hosts, host, state) => {
    const draining = { by: 'test', atMs: 100, ...(host !== undefined && { host }) };
    const fleet = newFleet(...hosts, putManager('m1', { state: 'draining', draining }));
    look(fleet);
    expect(managerOf(fleet)?.state).toBe(state);
  });
});

describe('draining', () => {
  test('is noted once, and taken back', () => {
    const fleet = newFleet(putManager('m1'));
    const mark = (nowMs: number): Change[] => markDraining(fleet, { manager: 'M1', by: 'op', nowMs, host: 'h1' });
    fleet.apply(2, mark(100));
    expect(managerOf(fleet)).toMatchObject({ state: 'draining', draining: { by: 'op', atMs: 100, host: 'h1' } });
    expect(mark(200)).toEqual([]);
    fleet.apply(3, clearDraining(fleet, { manager: 'm1', by: 'op', nowMs: 300 }));
    expect(managerOf(fleet)?.state).toBe('live');
    expect(managerOf(fleet)).not.toHaveProperty('draining');
    expect(clearDraining(fleet, { manager: 'm1', by: 'op', nowMs: 300 })).toEqual([]);
  });

  test('of one that is lost waits for its next tenure', () => {
    const fleet = newFleet(putManager('m1', { state: 'lost' }));
    fleet.apply(2, markDraining(fleet, { manager: 'm1', by: 'op', nowMs: 100 }));
    expect(managerOf(fleet)).toMatchObject({ state: 'lost', draining: { atMs: 100 } });
    fleet.apply(3, clearDraining(fleet, { manager: 'm1', by: 'op', nowMs: 100 }));
    expect(managerOf(fleet)?.state).toBe('lost');
  });
});

describe('to forget a manager', () => {
  test.each<[string, readonly Change[], string]>([
    ['unknown', [], 'manager-not-found'],
    ['live', [putManager('m1')], 'manager-live'],
    ['draining', [putManager('m1', DRAINING)], 'manager-live'],
    ['with-nodes', [putManager('m1', { state: 'lost' }), putOwned('n1', 'm1')], 'manager-has-nodes'],
    ['paused', [putManager('m1', { state: 'lost', embedded: true, paused: { by: 'op', atMs: 1 } })], 'manager-paused'],
    ['lost', [putManager('m1', { state: 'lost' })], 'accepted'],
    ['stopped', [putManager('m1', { state: 'stopped' })], 'accepted'],
  ])('%s', (_name, changes, code) => {
    const fleet = newFleet(...changes);
    expect(codeOf(forgetManager(fleet, { id: 'M1', by: 'op', nowMs: 2 }))).toBe(code);
  });

  test('takes its alarm away', () => {
    const fleet = newFleet(putManager('m1'));
    fleet.apply(2, reconcileManagers(fleet, { lost: [{ manager: 'm1', leaseEpoch: 3 }], by: 'managers', nowMs: 1 }));
    answerOf(fleet, forgetManager(fleet, { id: 'm1', by: 'op', nowMs: 2 }));
    expect([...fleet.all(ALARM)].map(({ id }): string => id)).toEqual(['no-manager-alive:fleet']);
  });
});
