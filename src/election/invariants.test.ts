// Each invariant finds what it is named after, and problems at rest are reported by name.
import { expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, remove, type Change } from '../fleet/index.ts';
import { ITEM, operationsModel, type Item } from '../operations/index.ts';
import { ROUTER } from '../network/index.ts';
import { fitHost, fleetOf, LEAVING, MODELS, outOfControl, portOn, routed } from './election-fixture.ts';
import { ELECTION_INVARIANTS, findSteadyStateProblems } from './invariants.ts';
import { SERVICE, type Service } from './model.ts';
import { anyWhy } from './why-fixture.ts';

const ID = idOf(SERVICE, 'nat:r1');

function nat(facts: Partial<Service> = {}): Change {
  const doc: Service = {
    type: 'nat',
    subject: 'r1',
    exclusion: 'soft',
    onControlLoss: 'move',
    epoch: 5,
    designated: { host: 'a', sinceMs: 0 },
    standby: 'c',
    changedBy: 'test',
    changedAtMs: 0,
    ...facts,
  };
  return put(SERVICE, ID, doc);
}

const at = (host: string): Partial<Service> => ({ designated: { host, sinceMs: 0 } });

const passing = (facts: Partial<NonNullable<Service['handover']>> = {}): Partial<Service> => ({
  handover: { operation: 'op', from: 'a', to: 'b', phase: 'preparing', why: anyWhy(), sinceMs: 0, ...facts },
});

function item(id: string): Change {
  const doc: Item = {
    operation: id,
    target: { kind: 'service', id: ID },
    step: 'prepare',
    state: 'running',
    attempt: 1,
    sinceMs: 0,
  };
  return put(ITEM, idOf(ITEM, id), doc);
}

function fleetWith(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  const hosts = ['a', 'b', 'c'].map((name) => fitHost(name));
  fleet.apply(
    1,
    fleetOf(
      hosts,
      routed('r1', ['s1']),
      ['a', 'b', 'c'].map((name) => portOn(name, 's1')),
    ),
  );
  fleet.apply(2, [nat(), ...changes]);
  return fleet;
}

function broken(fleet: Fleet, ...changes: readonly Change[]): string[] {
  const applied = fleet.apply(fleet.revision + 1, changes);
  return ELECTION_INVARIANTS.filter(({ check }) => check(applied, fleet).length > 0).map(({ name }) => name);
}

const [EPOCH, LEAVER, UNCONTROLLED, TWICE, REMOVED, STANDBY] = ELECTION_INVARIANTS.map(({ name }) => name);

test.each<readonly [string, readonly Change[], readonly Change[], string | undefined]>([
  ['an-election-with-a-new-epoch-is-fine', [], [nat({ epoch: 6, ...at('b') })], undefined],
  ['an-epoch-that-shrinks', [], [nat({ epoch: 4 })], EPOCH],
  ['another-host-with-the-same-epoch', [], [nat(at('b'))], EPOCH],
  ['a-designation-set-to-a-leaving-host', [fitHost('b', LEAVING)], [nat({ epoch: 6, ...at('b') })], LEAVER],
  [
    'a-designation-set-to-a-host-without-control',
    [fitHost('b', outOfControl(0))],
    [nat({ epoch: 6, ...at('b') })],
    UNCONTROLLED,
  ],
  ['one-that-stands-on-a-host-that-loses-control-is-not-set', [], [fitHost('a', outOfControl(0))], undefined],
  ['one-that-stands-on-a-host-that-begins-to-leave-is-not-set', [], [fitHost('a', LEAVING)], undefined],
  [
    'a-leaving-host-is-fine-when-all-leave',
    ['a', 'b', 'c'].map((name) => fitHost(name, LEAVING)),
    [nat({ epoch: 6, ...at('b') })],
    undefined,
  ],
  ['a-handover-by-whoever-has-it-is-fine', [], [nat(passing())], undefined],
  ['a-handover-from-another-host', [], [nat(passing({ from: 'c' }))], TWICE],
  ['a-handover-to-itself', [], [nat(passing({ to: 'a' }))], TWICE],
  ['switched-while-the-old-host-has-it', [], [nat(passing({ phase: 'switched' }))], TWICE],
  ['connections-copied-while-the-old-host-has-it-is-fine', [], [nat(passing({ phase: 'syncing' }))], undefined],
  [
    'copied-before-the-switch-while-the-new-host-has-it',
    [],
    [nat({ epoch: 6, ...at('b'), ...passing({ phase: 'syncing' }) })],
    TWICE,
  ],
  ['copied-again-while-the-old-host-has-it', [], [nat(passing({ phase: 'resyncing' }))], TWICE],
  ['two-handovers-at-a-time', [item('op-1')], [item('op-2')], TWICE],
  ['the-standby-is-the-host-itself', [], [nat({ standby: 'a' })], STANDBY],
  ['a-removed-host-that-has-it', [], [fitHost('a', { state: 'removed' })], REMOVED],
  ['a-designation-of-a-removed-host', [fitHost('b', { state: 'removed' })], [nat({ epoch: 6, ...at('b') })], REMOVED],
])('%s', (_name, before, after, expected) => {
  expect(broken(fleetWith(...before), ...after)).toEqual(expected === undefined ? [] : [expected]);
});

const ROUTE = 'subnet-route:s1 is missing';

test.each<readonly [string, readonly Change[], readonly string[]]>([
  ['a-service-that-is-missing', [], [ROUTE]],
  ['one-without-its-subject', [remove(ROUTER, idOf(ROUTER, 'r1'))], ['nat:r1 is there without its subject']],
  [
    'one-that-is-not-served',
    [fitHost('a', LEAVING), nat({ epoch: 5, ...{ designated: undefined, standby: undefined } } as never)],
    ['nat:r1 is not served, and b is a candidate', ROUTE],
  ],
  [
    'one-without-a-standby',
    [nat({ standby: undefined } as never)],
    ['nat:r1 has no standby, and b is a candidate', ROUTE],
  ],
  ['one-that-stays-behind', [fitHost('a', LEAVING)], ['nat:r1 stays at a, and b is a candidate', ROUTE]],
  ['one-in-a-handover', [nat(passing())], ['nat:r1 is being handed over', ROUTE]],
  [
    'one-that-does-not-say-that-it-is-degraded',
    ['a', 'b', 'c'].map((name) => fitHost(name, LEAVING)),
    ['nat:r1 stays at leaving a and is not degraded', ROUTE],
  ],
  [
    'one-that-says-so-without-cause',
    [nat({ designated: { host: 'a', sinceMs: 0, degraded: true } })],
    ['nat:r1 is degraded without cause', ROUTE],
  ],
])('at rest: %s', (_name, changes, expected) => {
  const fleet = fleetWith();
  if (changes.length > 0) fleet.apply(fleet.revision + 1, changes);
  expect(findSteadyStateProblems(fleet)).toEqual(expected);
});
