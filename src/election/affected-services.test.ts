// Which services a change makes the controller reconcile: never too few, and few enough.
import { expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, SETTING, type Change } from '../fleet/index.ts';
import { TRANSPORT_ZONE } from '../network/index.ts';
import { network, segment } from '../network/network-fixture.ts';
import { operationsModel } from '../operations/index.ts';
import { findAffectedServices } from './affected-services.ts';
import { fitHost, fleetOf, MODELS, plainSubnet, portOn, routed } from './election-fixture.ts';

const BOUND = portOn('a', 's1');
const CHANGED = { changedBy: 'test', changedAtMs: 0 };

function affected(change: Change): string[] | 'all' {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  fleet.apply(1, fleetOf(fitHost('a'), fitHost('b'), routed('r1', ['s1', 's2']), plainSubnet('s3'), BOUND));
  const [applied] = fleet.apply(2, [change]);
  const ids = findAffectedServices(fleet, applied!);
  return ids === 'all' ? ids : [...new Set<string>(ids)].sort();
}

const OF_S1 = ['dhcp:s1', 'nat:r1', 'subnet-route:s1'];

test.each<readonly [string, Change, readonly string[] | 'all']>([
  ['a-host-that-falls-silent', fitHost('a', { connection: { state: 'suspect', sinceMs: 1 } }), OF_S1],
  ['a-host-that-leaves', fitHost('a', { state: 'draining' }), OF_S1],
  ['a-host-with-another-base-weight', { ...fitHost('a'), doc: { ...fitHost('a').doc, baseWeight: 3 } }, []],
  ['a-host-without-ports', fitHost('b', { state: 'draining' }), []],
  ['a-port-that-comes', portOn('b', 's2'), ['dhcp:s2', 'nat:r1', 'subnet-route:s2']],
  ['a-port-that-goes', { kind: 'port', id: 'a-s1', doc: null }, OF_S1],
  ['a-port-that-is-only-renamed', { ...BOUND, doc: { ...BOUND.doc, name: 'x' } }, []],
  ['a-port-in-a-subnet-without-a-router', portOn('a', 's3', 'p3'), ['dhcp:s3', 'subnet-route:s3']],
  ['a-router-that-loses-a-subnet', { ...routed('r1', ['s1'])[1]! }, ['nat:r1', 'subnet-route:s1', 'subnet-route:s2']],
  ['a-router-that-goes', { kind: 'router', id: 'r1', doc: null }, ['nat:r1', 'subnet-route:s1', 'subnet-route:s2']],
  ['a-subnet-with-dhcp', plainSubnet('s3', { dhcp: true }), ['dhcp:s3', 'subnet-route:s3']],
  ['the-network-outside', network('outside', { external: true, shared: true }), ['nat:r1']],
  ['a-segment-outside', segment('up', 'outside'), ['nat:r1']],
  ['a-transport-zone', put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'z'), { name: 'z', mesh: 'full', ...CHANGED }), 'all'],
  ['the-setting', put(SETTING, idOf(SETTING, 'election'), { value: {}, ...CHANGED }), 'all'],
  ['another-setting', put(SETTING, idOf(SETTING, 'liveness'), { value: {}, ...CHANGED }), []],
])('%s', (_name, change, expected) => {
  expect(affected(change)).toEqual(expected);
});
