import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SERVICE, serviceId, type Service } from '../../election/index.ts';
import { idOf, put, remove, type Change } from '../../fleet/index.ts';
import { buildPart, type Host } from '../../hosts/index.ts';
import {
  FLOATING_ADDRESS,
  PORT,
  ROUTER,
  TRANSPORT_ZONE,
  TUNNEL_KEY,
  type FloatingAddress,
} from '../../network/index.ts';
import { subnet } from '../../network/network-fixture.ts';
import { bfdPart } from './bfd-part.ts';
import { networksPart } from './networks-part.ts';
import { possibleTunnelPeers, meshPeersOf, peersPart } from './peers-part.ts';
import { roleOf, servicesPart } from './services-part.ts';
import {
  CHANGED,
  HOSTS,
  designatedAt,
  blue,
  green,
  host,
  keys,
  newFleet,
  handoverState,
  peers,
  portInSegment,
  portOn,
  red,
  router,
  service,
  services,
  zone,
} from './view-parts-fixture.ts';

describe('peers', () => {
  const all = HOSTS.map((name) => host(name));

  test('full: all hosts in the zone but itself, with addresses', () => {
    const fleet = newFleet(zone('default', 'full'), ...all, host('c5', { transportZone: 'edge' }));
    expect(buildPart(peersPart, fleet, 'c1')).toEqual([
      { host: 'c2', tunnelAddress: '172.16.0.2' },
      { host: 'c3', tunnelAddress: '172.16.0.3' },
      { host: 'c4', tunnelAddress: '172.16.0.4' },
    ]);
    expect(peers(fleet, 'c5')).toEqual([]);
  });

  test.each<readonly [string, Partial<Host>, boolean]>([
    ['a-tombstoned-host-keeps-its-tunnels', { state: 'drained' }, true],
    ['one-that-is-finalizing-has-none', { state: 'finalizing' }, false],
    ['a-removed-one-has-none', { state: 'removed' }, false],
    ['a-quarantined-one-has-none', { quarantined: { because: 'identity', atMs: 0 } }, false],
    ['one-that-joins-has-them-with-its-switch', { state: 'joining' }, true],
    ['one-that-joins-without-a-switch-has-none', { state: 'joining', switch: {} }, false],
    ['one-that-is-down-keeps-them', { connection: { state: 'down', sinceMs: 0 } }, true],
    ['one-of-another-zone-is-no-peer', { transportZone: 'edge' }, false],
  ])('%s', (_name, facts, isPeer) => {
    const fleet = newFleet(zone('default', 'full'), zone('edge', 'full'), host('c1'), host('c2', facts));
    expect(peers(fleet, 'c1')).toEqual(isPeer ? ['c2'] : []);
    // Tunnels are mutual.
    expect(peers(fleet, 'c2')).toEqual(isPeer ? ['c1'] : []);
  });

  test('a-zone-that-is-not-defined-yet-parks-tunnels', () => {
    const fleet = newFleet(host('c1', { transportZone: 'edge' }), host('c2', { transportZone: 'edge' }));
    expect(peers(fleet, 'c1')).toEqual([]);
    fleet.apply(3, [zone('edge', 'full')]);
    expect(peers(fleet, 'c1')).toEqual(['c2']);
  });

  test('needed: those that share a network, a router or a service', () => {
    const fleet = newFleet(
      zone('default', 'needed'),
      ...all,
      ...blue,
      ...red,
      portOn('p1', 'c1', 'blue'),
      portOn('p2', 'c2', 'blue'),
      portOn('p3', 'c3', 'red'),
    );
    expect([peers(fleet, 'c1'), peers(fleet, 'c3')]).toEqual([['c2'], []]);
    fleet.apply(3, [router('edge', ['blue-v4', 'red-v4'])]);
    expect([peers(fleet, 'c1'), peers(fleet, 'c3')]).toEqual([
      ['c2', 'c3'],
      ['c1', 'c2'],
    ]);
    fleet.apply(4, [service('nat', 'edge', designatedAt('c4'))]);
    expect([peers(fleet, 'c1'), peers(fleet, 'c4')]).toEqual([
      ['c2', 'c3', 'c4'],
      ['c1', 'c2', 'c3'],
    ]);
  });

  test('of-a-host-that-is-finalizing-all-hosts-with-a-tunnel-are-known', () => {
    const fleet = newFleet(zone('default', 'full'), ...all, host('c1', { state: 'finalizing' }));
    expect(peers(fleet, 'c2')).toEqual(['c3', 'c4']);
    expect(meshPeersOf(fleet, 'c1')).toEqual(['c2', 'c3', 'c4']);
    expect(possibleTunnelPeers(fleet, 'c1')).toEqual(['c2', 'c3', 'c4']);
  });

  test.each<[string, Partial<Host>, Partial<Host>]>([
    ['that-shares-nothing-with-it-any-more', {}, {}],
    ['that-is-not-connected', {}, { connection: { state: 'down', sinceMs: 0 } }],
    ['that-has-no-tunnels-any-more', {}, { tunnelAddress: undefined } as unknown as Partial<Host>],
    ['when-it-has-no-address-any-more-itself', { tunnelAddress: undefined } as unknown as Partial<Host>, {}],
  ])('a-peer-may-still-have-a-tunnel: %s', (_name, going, other) => {
    const fleet = newFleet(zone('default', 'needed'), host('c1', { state: 'finalizing', ...going }), host('c2', other));
    expect(meshPeersOf(fleet, 'c1')).toEqual([]);
    expect(possibleTunnelPeers(fleet, 'c1')).toEqual(['c2']);
  });

  test.each<[string, Partial<Host>, Partial<Host>]>([
    ['that-it-was-with-before', { transportZone: 'edge', leftZones: ['default'] }, {}],
    ['that-was-with-it-before', {}, { transportZone: 'edge', leftZones: ['rack', 'default'] }],
    [
      'that-is-elsewhere-as-well',
      { transportZone: 'edge', leftZones: ['default'] },
      { transportZone: 'rack', leftZones: ['default'] },
    ],
  ])('a-peer-of-another-zone-may-still-have-a-tunnel: %s', (_name, going, other) => {
    const fleet = newFleet(
      zone('default', 'full'),
      zone('edge', 'full'),
      host('c1', { state: 'finalizing', ...going }),
      host('c2', other),
      host('c3', { transportZone: 'far' }),
    );
    expect(possibleTunnelPeers(fleet, 'c1')).toEqual(['c2']);
  });

  test('no-host-of-another-zone-and-none-that-is-removed-has-one', () => {
    const fleet = newFleet(
      zone('default', 'full'),
      host('c1', { state: 'finalizing' }),
      host('c2', { transportZone: 'edge' }),
      host('c3', { state: 'removed' }),
    );
    expect(possibleTunnelPeers(fleet, 'c1')).toEqual([]);
  });
});

describe('services', () => {
  const ground = [
    zone('default', 'full'),
    ...HOSTS.map((name) => host(name)),
    ...blue,
    portOn('p1', 'c1', 'blue'),
    portOn('p2', 'c2', 'blue'),
  ];

  test('a host gets what it has presence for, who does it, and what to compile', () => {
    const fleet = newFleet(
      ...ground,
      router('edge', ['blue-v4']),
      service('nat', 'edge', designatedAt('c2')),
      service('dhcp', 'blue-v4'),
    );
    expect(services(fleet, 'c1')).toEqual([
      {
        id: 'dhcp:blue-v4',
        type: 'dhcp',
        epoch: 1,
        role: 'other',
        subnets: [{ id: 'blue-v4', network: 'blue', domain: 'network/blue', cidr: '10.0.4.0/24', gateway: '10.0.4.1' }],
      },
      {
        id: 'nat:edge',
        type: 'nat',
        epoch: 1,
        role: 'other',
        designated: { host: 'c2', tunnelAddress: '172.16.0.2' },
        subnets: [{ id: 'blue-v4', network: 'blue', domain: 'network/blue', cidr: '10.0.4.0/24', gateway: '10.0.4.1' }],
        router: 'edge',
        nat: { router: 'edge', ip: '198.51.100.7' },
      },
    ]);
    expect(services(fleet, 'c2').map(({ id, role }) => `${id} ${role}`)).toEqual([
      'dhcp:blue-v4 other',
      'nat:edge designated',
    ]);
    expect(services(fleet, 'c3')).toEqual([]);
  });

  test('a-floating-address-goes-to-the-host-of-its-port-alone', () => {
    const floating: FloatingAddress = {
      project: 'default',
      network: 'ext',
      outside: { port: 'q', ip: '198.51.100.20' },
      inside: { port: 'p1', ip: '10.0.4.2', router: 'edge' },
      ...CHANGED,
    };
    const fleet = newFleet(
      ...ground,
      router('edge', ['blue-v4']),
      service('nat', 'edge', designatedAt('c2')),
      put(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, 'f1'), floating),
    );
    expect(services(fleet, 'c1')[0]?.floating).toEqual([{ outside: '198.51.100.20', inside: '10.0.4.2' }]);
    expect(services(fleet, 'c2')[0]).not.toHaveProperty('floating');
  });

  test('a-quarantined-host-gets-nothing', () => {
    const fleet = newFleet(
      ...ground,
      service('dhcp', 'blue-v4', designatedAt('c1')),
      host('c1', { quarantined: { because: 'identity', atMs: 0 } }),
    );
    expect(services(fleet, 'c1')).toEqual([]);
  });

  test.each<readonly [string, Partial<Service>, readonly string[]]>([
    ['at-rest', designatedAt('c1'), ['designated', 'other', 'other']],
    ['none', {}, ['other', 'other', 'other']],
    [
      'preparing',
      { ...designatedAt('c1'), ...handoverState('c1', 'c2', 'preparing') },
      ['designated', 'preparing', 'other'],
    ],
    [
      'syncing',
      { ...designatedAt('c1'), ...handoverState('c1', 'c2', 'syncing') },
      ['designated', 'preparing', 'other'],
    ],
    [
      'switched',
      { ...designatedAt('c2'), ...handoverState('c1', 'c2', 'switched') },
      ['retiring', 'designated', 'other'],
    ],
    [
      'retiring',
      { ...designatedAt('c2'), ...handoverState('c1', 'c2', 'retiring') },
      ['retiring', 'designated', 'other'],
    ],
    [
      'resyncing',
      { ...designatedAt('c2'), ...handoverState('c1', 'c2', 'resyncing') },
      ['retiring', 'designated', 'other'],
    ],
  ])('roles: %s', (_name, doc, roles) => {
    expect(['c1', 'c2', 'c3'].map((name) => roleOf(doc as Service, name))).toEqual(roles);
  });

  test('both-ends-of-a-handover-know-of-each-other-also-without-presence', () => {
    const fleet = newFleet(
      ...ground,
      service('dhcp', 'blue-v4', { ...designatedAt('c3'), ...handoverState('c4', 'c3', 'switched') }),
    );
    expect(services(fleet, 'c4')[0]).toMatchObject({
      role: 'retiring',
      handover: { phase: 'switched', operation: 'op', other: 'c3', tunnelAddress: '172.16.0.3' },
    });
    expect(services(fleet, 'c3')[0]).toMatchObject({ role: 'designated', handover: { other: 'c4' } });
    expect(services(fleet, 'c1')[0]).not.toHaveProperty('handover');
  });
});

const name = fc.constantFrom(...HOSTS);
const aChange: fc.Arbitrary<Change> = fc.oneof(
  fc
    .tuple(
      name,
      fc.constantFrom<Partial<Host>>(
        {},
        { state: 'finalizing' },
        { state: 'removed' },
        { transportZone: 'edge' },
        { tunnelAddress: '172.16.9.9' },
        { quarantined: { because: 'identity', atMs: 0 } },
      ),
    )
    .map(([id, facts]) => host(id, facts)),
  fc.tuple(fc.constantFrom('default', 'edge'), fc.constantFrom('full', 'needed')).map(([id, mesh]) => zone(id, mesh)),
  fc.constantFrom('default', 'edge').map((id) => remove(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, id))),
  fc
    .tuple(
      fc.constantFrom('p1', 'p2', 'p33', 'p444'),
      fc.option(name, { nil: undefined }),
      fc.constantFrom('blue', 'red'),
    )
    .map(([id, where, of]) => portOn(id, where, of)),
  fc
    .tuple(fc.constantFrom('p1', 'p33', 'p5555'), name, fc.constantFrom('g1', 'g2'))
    .map(([id, where, of]) => portInSegment(id, where, of)),
  fc.constantFrom('p1', 'p2', 'p33', 'p5555').map((id) => remove(PORT, idOf(PORT, id))),
  fc
    .tuple(fc.subarray(['blue-v4', 'red-v4', 'g1-v4']), fc.constantFrom('198.51.100.7', '198.51.100.8'))
    .map(([of, ip]) => router('edge', of, ip)),
  fc.constant(remove(ROUTER, idOf(ROUTER, 'edge'))),
  fc.tuple(fc.constantFrom('10.0.4.0/24', '10.0.5.0/24')).map(([cidr]) => subnet('blue-v4', 'blue', cidr)),
  fc
    .tuple(
      fc.constantFrom('nat:edge', 'dhcp:blue-v4'),
      name,
      name,
      fc.constantFrom('preparing', 'syncing', 'switched', 'retiring', 'resyncing', 'draining', undefined),
      fc.option(name, { nil: undefined }),
    )
    .map(([id, one, other, phase, standby]) => {
      const [type, subject] = id.split(':') as [Service['type'], string];
      return service(type, subject, {
        ...designatedAt(one),
        ...(phase !== undefined && one !== other && handoverState(one, other, phase)),
        ...(standby !== undefined && standby !== one && { standby }),
      });
    }),
  fc.constant(remove(SERVICE, serviceId('nat', 'edge'))),
  fc.constantFrom(...keys),
  fc.constantFrom('100', '102', '200').map((id) => remove(TUNNEL_KEY, idOf(TUNNEL_KEY, id))),
);
const commits = fc.array(
  fc.uniqueArray(aChange, { selector: ({ kind, id }) => `${kind}/${id}`, minLength: 1, maxLength: 3 }),
  {
    minLength: 1,
    maxLength: 12,
  },
);

describe('properties of the parts', () => {
  test.each([peersPart, servicesPart, networksPart, bfdPart])(
    'never: the part $name of a host changes and the host is not told',
    (part) => {
      fc.assert(
        fc.property(commits, (all) => {
          const ground = [...blue, ...red, ...green, ...keys];
          const fleet = newFleet(zone('default', 'needed'), ...HOSTS.map((id) => host(id)), ...ground);
          for (const changes of all) {
            const before = HOSTS.map((id) => JSON.stringify(buildPart(part, fleet, id)));
            const applied = fleet.apply(fleet.revision + 1, changes);
            const affected = new Set(applied.flatMap((change) => part.affects(change, fleet)));
            const missed = HOSTS.filter(
              (id, nth) => JSON.stringify(buildPart(part, fleet, id)) !== before[nth] && !affected.has(id),
            );
            expect(missed).toEqual([]);
          }
        }),
        { numRuns: 300 },
      );
    },
  );

  test('a-host-that-leaves-a-zone-and-loses-what-it-shared-at-once-is-missed-there', () => {
    const ports = [portOn('p1', 'c1', 'blue'), portOn('p2', 'c2', 'blue')];
    const fleet = newFleet(zone('default', 'needed'), ...HOSTS.map((id) => host(id)), ...blue, ...ports);
    const applied = fleet.apply(fleet.revision + 1, [
      host('c2', { transportZone: 'edge' }),
      remove(PORT, idOf(PORT, 'p2')),
    ]);
    expect(applied.flatMap((change) => peersPart.affects(change, fleet))).toContain('c1');
  });

  test('a-port-on-a-segment-affects-no-host-on-the-others', () => {
    const ports = ['c1', 'c2'].map((where, nth) => portInSegment(`p${nth}`, where, 'g1'));
    const elsewhere = portInSegment('p33', 'c3', 'g2');
    const fleet = newFleet(...HOSTS.map((id) => host(id)), ...green, ...keys, ...ports, elsewhere);
    const [change] = fleet.apply(fleet.revision + 1, [portInSegment('p444', 'c2', 'g1')]);
    expect([...networksPart.affects(change!, fleet)].sort()).toEqual(['c1', 'c2']);
  });

  test('never: a tunnel has one end', () => {
    fc.assert(
      fc.property(commits, (all) => {
        const fleet = newFleet(zone('default', 'needed'), ...HOSTS.map((id) => host(id)), ...blue, ...red);
        for (const changes of all) fleet.apply(fleet.revision + 1, changes);
        for (const id of HOSTS) for (const peer of peers(fleet, id)) expect(peers(fleet, peer)).toContain(id);
      }),
    );
  });

  test('a-second-port-on-a-host-affects-no-other', () => {
    const fleet = newFleet(
      zone('default', 'needed'),
      ...HOSTS.map((id) => host(id)),
      ...blue,
      portOn('p1', 'c1', 'blue'),
      portOn('p2', 'c2', 'blue'),
    );
    const touched = (change: Change): string[] =>
      fleet.apply(fleet.revision + 1, [change]).flatMap((applied) => peersPart.affects(applied, fleet));
    expect(touched(portOn('p33', 'c1', 'blue'))).toEqual([]);
    expect(touched(portOn('p444', 'c3', 'blue')).sort()).toEqual(['c1', 'c2', 'c3']);
    expect(touched(remove(PORT, idOf(PORT, 'p33')))).toEqual([]);
    expect(touched(remove(PORT, idOf(PORT, 'p1'))).sort()).toEqual(['c1', 'c2', 'c3']);
  });
});
