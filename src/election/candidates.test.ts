// Candidates of a service: one reason for each host that is rejected, and scores for the others.
import { expect, test } from 'vitest';
import { Fleet, Registry, type Change } from '../fleet/index.ts';
import type { Host } from '../hosts/index.ts';
import { network, port, segment } from '../network/network-fixture.ts';
import { operationsModel } from '../operations/index.ts';
import { ElectionContext, Shortlist } from './candidates.ts';
import { fitHost, fleetOf, LEAVING, MODELS, plainSubnet, portOn, routed } from './election-fixture.ts';
import { WHY_LISTED_MAX, type Service } from './model.ts';

const NAT: Service = {
  type: 'nat',
  subject: 'r1',
  exclusion: 'soft',
  onControlLoss: 'move',
  epoch: 0,
  changedBy: 'test',
  changedAtMs: 0,
};
const ROUTE: Service = { ...NAT, type: 'subnet-route', subject: 's1' };

function fleetWith(...changes: readonly (Change | readonly Change[])[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  fleet.apply(1, fleetOf(routed('r1', ['s1']), ...changes));
  return fleet;
}

const FORCED_DOWN = { reason: 'x', by: 'ann', atMs: 0 };

const cases: readonly (readonly [string, Partial<Host>, string | undefined])[] = [
  ['a-fit-host-is-a-candidate', {}, undefined],
  ['a-removed-one-is-not', { state: 'removed' }, 'removed'],
  ['a-joining-one-is-not', { state: 'joining' }, 'not-in-service'],
  ['a-recovering-one-is-not-yet', { state: 'recovering' }, 'not-in-service'],
  ['a-draining-one-is-not', { state: 'draining' }, 'tombstoned'],
  ['a-drained-one-is-not', { state: 'drained' }, 'tombstoned'],
  ['a-finalizing-one-is-not', { state: 'finalizing' }, 'tombstoned'],
  ['a-quarantined-one-is-not', { quarantined: { because: 'removed', atMs: 0 } }, 'quarantined'],
  ['a-suspect-one-is-not', { connection: { state: 'suspect', sinceMs: 0 } }, 'not-connected'],
  ['a-silent-one-is-not', { connection: { state: 'down', sinceMs: 0 } }, 'not-connected'],
  ['one-that-was-never-connected-is-not', { connection: { state: 'unknown', sinceMs: 0 } }, 'not-connected'],
  ['one-that-is-operator-fenced-is-not', { forcedDown: FORCED_DOWN }, 'not-connected'],
  ['one-without-a-datapath-id-is-pending', { switch: { systemId: 'x' } }, 'no-datapath-id'],
  ['one-in-an-undefined-zone-is-parked', { transportZone: 'later' }, 'no-transport-zone'],
  ['one-with-an-old-agent-is-not', { serviceVersion: 3 }, 'agent-too-old'],
  ['one-in-maintenance-is', { disabled: FORCED_DOWN }, undefined],
];

test.each(cases)('%s', (_name, facts, because) => {
  const poll = new ElectionContext(fleetWith(fitHost('a', facts), portOn('a', 's1')));
  expect(poll.rejectionOf(ROUTE, 'a')).toBe(because);
  const { eligible, rejected } = poll.candidatesOf({ doc: ROUTE });
  expect(eligible.listed.map(({ host }) => host)).toEqual(because === undefined ? ['a'] : []);
  expect(rejected.listed).toEqual(because === undefined ? [] : [{ host: 'a', because }]);
});

test('one-without-a-tunnel-address-is-not', () => {
  const { kind, id, doc } = fitHost('a');
  const { tunnelAddress: _, ...bare } = doc as Host;
  expect(new ElectionContext(fleetWith({ kind, id, doc: bare }, portOn('a', 's1'))).rejectionOf(ROUTE, 'a')).toBe(
    'no-tunnel-address',
  );
});

test('a-host-that-is-not-known-is-rejected-by-name', () => {
  const poll = new ElectionContext(fleetWith(portOn('ghost', 's1')));
  expect(poll.candidatesOf({ doc: ROUTE }).rejected.listed).toEqual([{ host: 'ghost', because: 'unknown-host' }]);
});

test('a-host-without-presence-is-no-candidate', () => {
  const poll = new ElectionContext(fleetWith(fitHost('a')));
  expect(poll.rejectionOf(ROUTE, 'a')).toBe('no-presence');
  expect(poll.candidatesOf({ doc: ROUTE }).rejected.count).toBe(0);
});

test('address-translation-needs-a-way-out-and-a-subnet-s-route-does-not', () => {
  const poll = new ElectionContext(
    fleetWith(
      network('outside', { external: true }),
      segment('up', 'outside', { physicalNetwork: 'uplink' }),
      fitHost('a'),
      fitHost('b', { physicalNetworks: ['uplink'] }),
      portOn('a', 's1'),
      portOn('b', 's1'),
    ),
  );
  expect(poll.candidatesOf({ doc: NAT }).eligible.listed).toEqual([{ host: 'b', score: 0 }]);
  expect(poll.rejectionOf(NAT, 'a')).toBe('no-way-out');
  expect(poll.candidatesOf({ doc: ROUTE }).eligible.count).toBe(2);
});

test('on-a-routed-uplink-only-hosts-on-the-segment-of-its-address-translate', () => {
  const outside = { ip: '203.0.113.9', subnet: 'up-2-v4', chosenBy: 'create' as const };
  const poll = new ElectionContext(
    fleetWith(
      network('outside', { external: true }),
      segment('up-1', 'outside', { physicalNetwork: 'north' }),
      segment('up-2', 'outside', { physicalNetwork: 'south' }),
      plainSubnet('up-1-v4', { network: 'outside', segment: 'up-1' }),
      plainSubnet('up-2-v4', { network: 'outside', segment: 'up-2' }),
      port('nat-1', 'outside', { addresses: [outside] }),
      routed('r1', ['s1'], { nat: { port: 'nat-1', ip: outside.ip } }),
      fitHost('a', { physicalNetworks: ['north'] }),
      fitHost('b', { physicalNetworks: ['south'] }),
      portOn('a', 's1'),
      portOn('b', 's1'),
    ),
  );
  expect(poll.candidatesOf({ doc: NAT }).eligible.listed.map(({ host }) => host)).toEqual(['b']);
  expect(poll.rejectionOf(NAT, 'a')).toBe('no-way-out');
});

test('presence-of-a-router-is-that-of-all-its-subnets', () => {
  const poll = new ElectionContext(
    fleetWith(routed('r1', ['s1', 's2']), fitHost('a'), fitHost('b'), portOn('a', 's1'), portOn('b', 's2')),
  );
  expect(poll.candidatesOf({ doc: NAT }).eligible.listed.map(({ host }) => host)).toEqual(['a', 'b']);
  expect(poll.candidatesOf({ doc: ROUTE }).eligible.listed.map(({ host }) => host)).toEqual(['a']);
});

test('leaving-hosts-are-kept-apart-and-only-while-they-may-still-come-back', () => {
  const poll = new ElectionContext(
    fleetWith(
      fitHost('a', LEAVING),
      fitHost('b', { ...LEAVING, state: 'finalizing' }),
      fitHost('c', { ...LEAVING, connection: { state: 'down', sinceMs: 0 } }),
      ['a', 'b', 'c'].map((name) => portOn(name, 's1')),
    ),
  );
  const { leaving, rejected } = poll.candidatesOf({ doc: ROUTE });
  expect(leaving.listed).toEqual([{ host: 'a', score: 0 }]);
  expect(rejected.listed.map(({ because }) => because)).toEqual(['tombstoned', 'tombstoned', 'tombstoned']);
});

test('a-shortlist-keeps-the-first-few-in-order-and-counts-the-rest', () => {
  const list = new Shortlist<number>((one, other) => one < other);
  const numbers = Array.from({ length: 40 }, (_, nth) => (nth * 17) % 40);
  for (const one of numbers) list.add(one);
  expect(list.listed).toEqual(Array.from({ length: WHY_LISTED_MAX }, (_, nth) => nth));
  expect(list.count).toBe(40);
  expect(list.first).toBe(0);
});
