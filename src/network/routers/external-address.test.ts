import { describe, expect, test } from 'vitest';
import type { Fleet } from '../../fleet/index.ts';
import { HOST, type Host } from '../../hosts/index.ts';
import { commit, fleetWith, host, network, port, segment } from '../network-fixture.ts';
import { externalReachPredicate } from './external-address.ts';
import { makeRouter, routerDoc, faultyExternalWorld } from './router-fixture.ts';

describe('the hosts that reach the external network', () => {
  const reached = (fleet: Fleet, router: string): string[] =>
    idsWhere(fleet, externalReachPredicate(fleet, routerDoc(fleet, router)));

  const idsWhere = (fleet: Fleet, is: (host: Host) => boolean): string[] =>
    [...fleet.all(HOST)].filter(({ doc }) => is(doc)).map(({ id }) => id);

  const hosts = [host('ha', 'phys-ra'), host('hb', 'phys-rb'), host('hab', 'phys-ra', 'phys-rb'), host('none')];

  test('are those of the segment that its address is in', () => {
    const fleet = faultyExternalWorld();
    commit(fleet, hosts);
    makeRouter(fleet, { name: 'in-a', externalNetwork: 'racks' });
    makeRouter(fleet, { name: 'in-b', externalNetwork: 'racks' });
    expect(reached(fleet, 'in-a')).toEqual(['ha', 'hab']);
    expect(reached(fleet, 'in-b')).toEqual(['hab', 'hb']);
  });

  test('are those of any of its segments when it is not routed, and all where it has none', () => {
    const fleet = faultyExternalWorld();
    const flat = { type: 'flat', physicalNetwork: 'phys-ra' } as const;
    commit(fleet, [...hosts, segment('uplink', 'both', flat), segment('own', 'both', { dynamic: true })]);
    makeRouter(fleet, { name: 'some', externalNetwork: 'both' });
    makeRouter(fleet, { name: 'all', externalNetwork: 'six' });
    expect(reached(fleet, 'some')).toEqual(['ha', 'hab']);
    expect(reached(fleet, 'all')).toEqual(['ha', 'hab', 'hb', 'none']);
  });

  test('are none without an external network', () => {
    const fleet = fleetWith(...hosts, network('n'), port('p', 'n'));
    makeRouter(fleet, { name: 'shut' });
    expect(reached(fleet, 'shut')).toEqual([]);
  });

  test('are those of any of its segments while it has no address', () => {
    const fleet = faultyExternalWorld();
    commit(fleet, hosts);
    makeRouter(fleet, { name: 'shut' });
    const unaddressed = { ...routerDoc(fleet, 'shut'), externalNetwork: 'racks' };
    expect(idsWhere(fleet, externalReachPredicate(fleet, unaddressed))).toEqual(['ha', 'hab', 'hb']);
  });
});
