import { describe, expect, test } from 'vitest';
import type { Change, Fleet } from '../../fleet/index.ts';
import { buildPart } from '../../hosts/index.ts';
import type { Port } from '../../network/index.ts';
import { networksPart } from './networks-part.ts';
import type { NetworksView } from './dataplane-view.ts';
import { HOSTS, designatedAt, blue, host, keys, newFleet, portOn, red, router, service } from './view-parts-fixture.ts';

/** Bound to a bare-metal node of this name instead of a host: no tunnel leads there. */
function atNode(change: Change, node: string): Change {
  return { ...change, doc: { ...(change.doc as Port), binding: { node, serial: 1, type: 'baremetal' } } };
}

describe('networks', () => {
  const shown = (fleet: Fleet, name: string): NetworksView => buildPart(networksPart, fleet, name) as NetworksView;
  const hosts = HOSTS.map((name) => host(name));

  test('a host gets every port elsewhere in the networks that it has ports in', () => {
    const fleet = newFleet(
      ...hosts,
      ...blue,
      ...red,
      ...keys,
      portOn('p1', 'c1', 'blue'),
      portOn('p22', 'c2', 'blue'),
      portOn('p3', 'c3', 'red'),
      portOn('p4', undefined, 'blue'),
      atNode(portOn('p5', 'c2', 'blue'), 'c2'),
    );
    expect(shown(fleet, 'c1').domains).toMatchObject([
      { id: 'network/blue', key: 100, ports: [{ id: 'p22', addresses: ['10.0.4.3'], host: 'c2' }] },
    ]);
    expect(shown(fleet, 'c3').domains).toMatchObject([{ id: 'network/red', key: 101, ports: [] }]);
    expect(shown(fleet, 'c4')).toEqual({ domains: [], routers: [] });
  });

  test('a router brings the networks behind it, and whoever does its work knows them all', () => {
    const fleet = newFleet(
      ...hosts,
      ...blue,
      ...red,
      ...keys,
      portOn('p1', 'c1', 'blue'),
      portOn('p3', 'c3', 'red'),
      router('edge', ['blue-v4', 'red-v4']),
      service('nat', 'edge', designatedAt('c4')),
    );
    for (const name of ['c1', 'c3', 'c4']) {
      expect(shown(fleet, name).domains.map(({ id }) => id)).toEqual(['network/blue', 'network/red']);
      expect(shown(fleet, name).routers).toMatchObject([{ id: 'edge', key: 200 }]);
    }
    expect(shown(fleet, 'c2')).toEqual({ domains: [], routers: [] });
  });

  test('what-has-no-key-is-left-out', () => {
    const fleet = newFleet(...hosts, ...blue, portOn('p1', 'c1', 'blue'));
    expect(shown(fleet, 'c1').domains).toEqual([]);
  });

  test('a-quarantined-host-gets-no-network', () => {
    const fleet = newFleet(
      ...blue,
      ...keys,
      portOn('p1', 'c1', 'blue'),
      host('c1', { quarantined: { because: 'identity', atMs: 0 } }),
    );
    expect(shown(fleet, 'c1')).toEqual({ domains: [], routers: [] });
  });
});
