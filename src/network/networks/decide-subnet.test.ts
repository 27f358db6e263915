import { describe, expect, test } from 'vitest';
import { idOf, type Fleet } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { createSubnet, deleteSubnet, editSubnet, type CreateSubnet, type EditSubnet } from './decide-subnet.ts';
import { SUBNET, type Subnet } from '../model.ts';
import { commitAccepted, claim, commit, fleetWith, network, port, segment, subnet, WHO } from '../network-fixture.ts';
import { stockOf } from '../addresses/stock.ts';

/** `n` is plain, `r` is routed with one segment left, `c` could become routed. */
function world(): Fleet {
  return fleetWith(
    network('n'),
    subnet('s', 'n', '10.0.0.0/24'),
    network('r'),
    segment('a', 'r'),
    segment('b', 'r'),
    segment('dyn', 'r', { dynamic: true }),
    subnet('sa', 'r', '10.1.0.0/24', { segment: 'a' }),
    network('c'),
    segment('only', 'c'),
    subnet('sc', 'c', '10.2.0.0/28'),
    network('empty'),
  );
}

const make = (fleet: Fleet, facts: Partial<CreateSubnet>): Decision<Subnet> =>
  createSubnet(fleet, { name: 'x', network: 'empty', cidr: '192.0.2.0/24', ...WHO, ...facts });

describe('creating subnets', () => {
  test.each<[string, Partial<CreateSubnet>, Pick<Subnet, 'cidr' | 'gateway' | 'pools'>]>([
    [
      'an IPv4 subnet',
      { cidr: '192.0.2.0/24' },
      { cidr: '192.0.2.0/24', gateway: '192.0.2.1', pools: [{ first: '192.0.2.2', last: '192.0.2.254' }] },
    ],
    [
      'one without a gateway',
      { gateway: null },
      { cidr: '192.0.2.0/24', pools: [{ first: '192.0.2.1', last: '192.0.2.254' }] },
    ],
    [
      'one with the gateway in the middle',
      { gateway: '192.0.2.9' },
      {
        cidr: '192.0.2.0/24',
        gateway: '192.0.2.9',
        pools: [
          { first: '192.0.2.1', last: '192.0.2.8' },
          { first: '192.0.2.10', last: '192.0.2.254' },
        ],
      },
    ],
    [
      'one with the gateway at the end',
      { gateway: '192.0.2.254' },
      { cidr: '192.0.2.0/24', gateway: '192.0.2.254', pools: [{ first: '192.0.2.1', last: '192.0.2.253' }] },
    ],
    [
      'a /31, where both are hosts',
      { cidr: '192.0.2.0/31' },
      { cidr: '192.0.2.0/31', pools: [{ first: '192.0.2.0', last: '192.0.2.1' }] },
    ],
    ['a /32', { cidr: '192.0.2.7/32' }, { cidr: '192.0.2.7/32', pools: [{ first: '192.0.2.7', last: '192.0.2.7' }] }],
    [
      'an IPv6 subnet, whose first address is the routers’',
      { cidr: '2001:DB8:0::/64' },
      {
        cidr: '2001:db8::/64',
        gateway: '2001:db8::1',
        pools: [{ first: '2001:db8::2', last: '2001:db8::ffff:ffff:ffff:ffff' }],
      },
    ],
    [
      'one with pools of its own, in canonical form and as they came',
      {
        cidr: '2001:db8::/64',
        pools: [
          { first: '2001:db8::0:20', last: '2001:db8::2F' },
          { first: '2001:db8::1', last: '2001:db8::1' },
        ],
      },
      {
        cidr: '2001:db8::/64',
        gateway: '2001:db8::1',
        pools: [
          { first: '2001:db8::20', last: '2001:db8::2f' },
          { first: '2001:db8::1', last: '2001:db8::1' },
        ],
      },
    ],
    ['one without pools', { pools: [] }, { cidr: '192.0.2.0/24', gateway: '192.0.2.1', pools: [] }],
  ])('%s', (_name, facts, form) => {
    const fleet = world();
    const { cidr, gateway, pools } = commitAccepted(fleet, make(fleet, facts));
    expect({ cidr, ...(gateway !== undefined && { gateway }), pools }).toEqual(form);
    expect(fleet.get(SUBNET, idOf(SUBNET, 'x'))?.doc.network).toBe('empty');
  });

  test('a routed network takes subnets on its segments, several on one', () => {
    const fleet = world();
    commitAccepted(fleet, make(fleet, { network: 'r', segment: 'b' }));
    commitAccepted(fleet, make(fleet, { name: 'y', network: 'r', segment: 'b', cidr: '2001:db8::/64' }));
    expect(stockOf(fleet).versionsOf('segment:b')).toEqual([4, 6]);
  });

  test('other networks may use the same range', () => {
    const fleet = world();
    commitAccepted(fleet, make(fleet, { cidr: '10.0.0.0/24' }));
  });

  test('scheduling-8: a mix of subnets with a segment and without is refused, either way', () => {
    expect(make(world(), { network: 'r' })).toMatchObject({ refusal: { code: 'subnet-without-segment' } });
    expect(make(world(), { network: 'c', segment: 'only' })).toMatchObject({
      refusal: { code: 'subnet-with-segment' },
    });
  });

  test.each<[string, string, string, Partial<CreateSubnet>]>([
    ['a name that is taken', 'subnet-exists', '/name', { name: 's' }],
    ['a network that is not there', 'unknown-network', '/network', { network: 'mars' }],
    ['no CIDR', 'cidr-invalid', '/cidr', { cidr: '192.0.2.0' }],
    ['host bits', 'cidr-invalid', '/cidr', { cidr: '192.0.2.1/24' }],
    ['a prefix that is too long', 'cidr-invalid', '/cidr', { cidr: '192.0.2.0/33' }],
    ['the same range', 'cidr-overlaps', '/cidr', { network: 'n', cidr: '10.0.0.0/24' }],
    ['a part of a range', 'cidr-overlaps', '/cidr', { network: 'n', cidr: '10.0.0.64/26' }],
    ['a range around one', 'cidr-overlaps', '/cidr', { network: 'n', cidr: '10.0.0.0/8' }],
    ['an overlap on another segment', 'cidr-overlaps', '/cidr', { network: 'r', segment: 'b', cidr: '10.1.0.0/25' }],
    ['no segment on a routed network', 'subnet-without-segment', '/segment', { network: 'r' }],
    ['a segment that is not there', 'unknown-segment', '/segment', { network: 'r', segment: 'mars' }],
    ['a segment of another network', 'segment-of-other-network', '/segment', { network: 'r', segment: 'only' }],
    ['a dynamic segment', 'segment-dynamic', '/segment', { network: 'r', segment: 'dyn' }],
    ['a gateway elsewhere', 'gateway-outside-subnet', '/gateway', { gateway: '192.0.3.1' }],
    ['a gateway of the other version', 'gateway-outside-subnet', '/gateway', { gateway: '2001:db8::1' }],
    ['a gateway that is none', 'gateway-outside-subnet', '/gateway', { gateway: 'x' }],
    ['the broadcast address as gateway', 'gateway-reserved', '/gateway', { gateway: '192.0.2.255' }],
    ['the network’s own address as gateway', 'gateway-reserved', '/gateway', { gateway: '192.0.2.0' }],
    [
      'a pool that begins outside',
      'pool-outside-subnet',
      '/pools/0',
      { pools: [{ first: '192.0.1.9', last: '192.0.2.9' }] },
    ],
    [
      'a pool that ends outside',
      'pool-outside-subnet',
      '/pools/0',
      { pools: [{ first: '192.0.2.9', last: '192.0.3.9' }] },
    ],
    [
      'a pool with the broadcast address',
      'pool-outside-subnet',
      '/pools/0',
      { pools: [{ first: '192.0.2.9', last: '192.0.2.255' }] },
    ],
    ['a pool of the other version', 'pool-outside-subnet', '/pools/0', { pools: [{ first: '::1', last: '::2' }] }],
    ['a pool that runs backwards', 'pool-invalid', '/pools/0', { pools: [{ first: '192.0.2.9', last: '192.0.2.8' }] }],
    ['a pool of no addresses', 'pool-invalid', '/pools/0', { pools: [{ first: 'a', last: 'b' }] }],
    [
      'pools that overlap',
      'pools-overlap',
      '/pools/0',
      {
        pools: [
          { first: '192.0.2.20', last: '192.0.2.30' },
          { first: '192.0.2.10', last: '192.0.2.20' },
        ],
      },
    ],
  ])('%s is refused: %s', (_name, code, field, facts) => {
    expect(make(world(), facts)).toMatchObject({ kind: 'refuse', refusal: { code, field } });
  });

  test('a refusal for host bits suggests the network around them', () => {
    const decision = make(world(), { cidr: '192.0.2.1/24' });
    expect(decision.kind === 'refuse' && decision.refusal.message).toContain('192.0.2.0/24');
  });
});

describe('editing subnets', () => {
  const edit = (fleet: Fleet, id: string, facts: EditSubnet['edit']): Decision<Subnet> =>
    editSubnet(fleet, { id, edit: facts, ...WHO });

  test('pools and gateway change alone', () => {
    const fleet = world();
    const pools = [{ first: '10.0.0.10', last: '10.0.0.19' }];
    expect(commitAccepted(fleet, edit(fleet, 's', { pools }))).toMatchObject({ gateway: '10.0.0.1', pools });
    expect(commitAccepted(fleet, edit(fleet, 's', { gateway: '10.0.0.254' }))).toMatchObject({
      gateway: '10.0.0.254',
      pools,
    });
    const without = commitAccepted(fleet, edit(fleet, 's', { gateway: null }));
    expect(without.gateway).toBeUndefined();
    expect(stockOf(fleet).free('network:n', 4)).toBe(10n);
  });

  test('held addresses outside the new pools stay held', () => {
    const fleet = world();
    commit(fleet, [port('p', 'n', { addresses: [{ ip: '10.0.0.50', subnet: 's', chosenBy: 'user' }] })]);
    commitAccepted(fleet, edit(fleet, 's', { pools: [{ first: '10.0.0.2', last: '10.0.0.3' }] }));
    expect(stockOf(fleet).holderOf('s', '10.0.0.50')).toBe('p');
    expect(stockOf(fleet).free('network:n', 4)).toBe(2n);
  });

  test('a plain network becomes routed with its one segment and its one subnet (R1)', () => {
    const fleet = world();
    commit(fleet, [port('p', 'c', { addresses: [{ ip: '10.2.0.5', subnet: 'sc', chosenBy: 'create' }] })]);
    expect(commitAccepted(fleet, edit(fleet, 'sc', { segment: 'only' })).segment).toBe('only');
    expect(stockOf(fleet).figures('segment:only', 4)).toMatchObject({ total: 13n, held: 1n });
    expect(stockOf(fleet).figures('network:c', 4).total).toBe(0n);
    // Setting it again changes nothing.
    commitAccepted(fleet, edit(fleet, 'sc', { segment: 'only' }));
  });

  test.each<[string, string, string | undefined, [string, EditSubnet['edit']]]>([
    ['another segment', 'segment-immutable', '/segment', ['sa', { segment: 'b' }]],
    ['a segment that is not there', 'unknown-segment', '/segment', ['sc', { segment: 'mars' }]],
    ['a segment of another network', 'segment-of-other-network', '/segment', ['sc', { segment: 'a' }]],
    ['pools outside', 'pool-outside-subnet', '/pools/0', ['s', { pools: [{ first: '10.9.0.1', last: '10.9.0.2' }] }]],
    ['a gateway outside', 'gateway-outside-subnet', '/gateway', ['s', { gateway: '10.9.0.1' }]],
    ['a gateway that a port has', 'address-in-use', '/gateway', ['s', { gateway: '10.0.0.50' }]],
    ['a subnet that is not there', 'unknown-subnet', undefined, ['mars', {}]],
  ])('%s is refused: %s', (_name, code, field, [id, facts]) => {
    const fleet = world();
    commit(fleet, [port('p', 'n', { addresses: [{ ip: '10.0.0.50', subnet: 's', chosenBy: 'user' }] })]);
    const decision = edit(fleet, id, facts);
    expect(decision).toMatchObject({ kind: 'refuse', refusal: { code } });
    expect(decision.kind === 'refuse' && decision.refusal.field).toBe(field);
  });

  test.each([
    ['two segments', segment('more', 'c')],
    ['two subnets', subnet('more', 'c', '10.3.0.0/24')],
  ])('a network with %s does not become routed', (_name, more) => {
    const fleet = world();
    commit(fleet, [more]);
    expect(edit(fleet, 'sc', { segment: 'only' })).toMatchObject({ refusal: { code: 'conversion-ambiguous' } });
  });

  test('a dynamic segment takes no subnet when a network becomes routed either', () => {
    const fleet = fleetWith(network('n'), segment('dyn', 'n', { dynamic: true }), subnet('s', 'n', '10.0.0.0/24'));
    expect(edit(fleet, 's', { segment: 'dyn' })).toMatchObject({ refusal: { code: 'segment-dynamic' } });
  });

  test('claimed addresses are not taken away', () => {
    const fleet = world();
    commit(fleet, [claim('i', { pool: 'network:c', version: 4, count: 3 })]);
    const pools = [{ first: '10.2.0.2', last: '10.2.0.3' }];
    expect(edit(fleet, 'sc', { pools })).toMatchObject({ refusal: { code: 'addresses-promised' } });
    expect(edit(fleet, 'sc', { segment: 'only' })).toMatchObject({ refusal: { code: 'addresses-promised' } });
    expect(deleteSubnet(fleet, { id: 'sc' })).toMatchObject({ refusal: { code: 'addresses-promised' } });
    commitAccepted(fleet, edit(fleet, 'sc', { pools: [{ first: '10.2.0.2', last: '10.2.0.4' }] }));
    // A gateway inside the pool takes one of them.
    expect(edit(fleet, 'sc', { gateway: '10.2.0.3' })).toMatchObject({ refusal: { code: 'addresses-promised' } });
    // The check left no trace.
    expect(stockOf(fleet).figures('network:c', 4)).toEqual({ total: 3n, held: 0n, claimed: 3n, free: 0n });
  });
});

describe('deleting subnets', () => {
  test('one without addresses in use is deleted', () => {
    const fleet = world();
    commitAccepted(fleet, deleteSubnet(fleet, { id: 's' }));
    expect(fleet.get(SUBNET, idOf(SUBNET, 's'))).toBeUndefined();
  });

  test('one with addresses that ports have stays', () => {
    const fleet = world();
    commit(fleet, [port('p', 'n', { addresses: [{ ip: '10.0.0.50', subnet: 's', chosenBy: 'user' }] })]);
    expect(deleteSubnet(fleet, { id: 's' })).toMatchObject({
      refusal: {
        code: 'subnet-in-use',
        message: expect.stringMatching(/^A port still has an address of subnet "s"\./) as unknown,
        facts: { addresses: 1 },
      },
    });
  });

  test('deleting none is refused', () => {
    expect(deleteSubnet(world(), { id: 'x' })).toMatchObject({
      refusal: { kind: 'not-found', code: 'unknown-subnet' },
    });
  });
});

describe('DHCP', () => {
  const dhcpOf = (fleet: Fleet, id: string): unknown => fleet.get(SUBNET, idOf(SUBNET, id))?.doc.dhcp;
  const turn = (fleet: Fleet, dhcp: boolean, id = 's'): Decision<Subnet> =>
    editSubnet(fleet, { id, edit: { dhcp }, ...WHO });

  test('is off unless asked for, and turned on and off; other edits leave it as it is', () => {
    const fleet = world();
    commitAccepted(fleet, make(fleet, {}));
    commitAccepted(fleet, make(fleet, { name: 'y', cidr: '198.51.100.0/24', dhcp: true }));
    expect([dhcpOf(fleet, 'x'), dhcpOf(fleet, 'y')]).toEqual([undefined, true]);
    commitAccepted(fleet, turn(fleet, true));
    commitAccepted(fleet, editSubnet(fleet, { id: 's', edit: { gateway: '10.0.0.9' }, ...WHO }));
    expect(dhcpOf(fleet, 's')).toBe(true);
    commitAccepted(fleet, turn(fleet, false));
    // Off has one spelling.
    expect(fleet.get(SUBNET, idOf(SUBNET, 's'))?.doc).not.toHaveProperty('dhcp');
  });

  test('is refused in an IPv6 subnet; off is all right there', () => {
    const refusal = {
      kind: 'invalid',
      code: 'dhcp-needs-ipv4',
      field: '/dhcp',
      message: 'Subnet "x" is IPv6, and DHCP is answered in IPv4 subnets only. Leave it off.',
    };
    expect(make(world(), { cidr: '2001:db8::/64', dhcp: true })).toMatchObject({ refusal });
    const fleet = world();
    commitAccepted(fleet, make(fleet, { cidr: '2001:db8::/64', dhcp: false }));
    expect(turn(fleet, true, 'x')).toMatchObject({ refusal });
    commitAccepted(fleet, turn(fleet, false, 'x'));
  });
});
