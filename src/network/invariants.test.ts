import { describe, expect, test } from 'vitest';
import { remove, type Change, type Fleet } from '../fleet/index.ts';
import { NETWORK_INVARIANTS } from './invariants.ts';
import { NETWORK, SEGMENT, SUBNET, type Address } from './model.ts';
import { violationsOf, claim, fleetWith, host, network, port, segment, subnet } from './network-fixture.ts';

const at = (ip: string, of = 's', chosenBy: Address['chosenBy'] = 'user'): Address => ({ ip, subnet: of, chosenBy });

function world(): Fleet {
  return fleetWith(
    host('h1', 'phys-a'),
    network('n'),
    subnet('s', 'n', '10.0.0.0/29'),
    network('r'),
    segment('a', 'r'),
    segment('b', 'r'),
    subnet('sa', 'r', '10.1.0.0/24', { segment: 'a' }),
    subnet('sb', 'r', '10.1.1.0/24', { segment: 'b' }),
    port('p', 'n', { addresses: [at('10.0.0.3')], serial: 4 }),
    port('q', 'r', { instance: 'i', nic: 0, serial: 2, binding: { host: 'h1', serial: 2, segment: 'a', type: 'ovs' } }),
  );
}

/** Each of them can be broken, and reports it. */
describe('never', () => {
  test.each<[string, number, Change[]]>([
    ['an address given twice', 0, [port('x', 'n', { addresses: [at('10.0.0.3')] })]],
    ['the gateway given to a port', 0, [port('x', 'n', { addresses: [at('10.0.0.1')] })]],
    ['a gateway on a port’s address', 1, [subnet('s', 'n', '10.0.0.0/29', { gateway: '10.0.0.3' })]],
    [
      'a MAC address given twice',
      2,
      [port('x', 'n', { mac: '52:00:00:00:00:07' }), port('y', 'n', { mac: '52:00:00:00:00:07' })],
    ],
    ['a plain subnet on a routed network', 3, [subnet('x', 'r', '10.9.0.0/24')]],
    ['a subnet on another network’s segment', 3, [subnet('s', 'n', '10.0.0.0/29', { segment: 'a' })]],
    ['a subnet on a dynamic segment', 3, [segment('a', 'r', { dynamic: true })]],
    ['a segment gone from under its subnet', 3, [remove(SEGMENT, 'a' as never)]],
    ['a network gone from under its segments', 3, [segment('x', 'mars')]],
    ['an address outside its subnet', 4, [port('x', 'n', { addresses: [at('10.9.0.3')] })]],
    ['an address of another network', 4, [port('x', 'n', { addresses: [at('10.1.0.3', 'sa')] })]],
    ['addresses in two segments', 4, [port('x', 'r', { addresses: [at('10.1.0.3', 'sa'), at('10.1.1.3', 'sb')] })]],
    ['a subnet gone from under an address', 4, [remove(SUBNET, 's' as never)]],
    ['a port on no network', 4, [port('x', 'mars')]],
    ['a serial that falls', 5, [port('p', 'n', { addresses: [at('10.0.0.3')], serial: 3 })]],
    [
      'another host under the same serial',
      5,
      [
        port('q', 'r', {
          instance: 'i',
          nic: 0,
          serial: 2,
          binding: { host: 'h2', serial: 2, segment: 'a', type: 'ovs' },
        }),
      ],
    ],
    [
      'a binding above the serial',
      5,
      [port('x', 'n', { instance: 'j', nic: 0, binding: { host: 'h1', serial: 1, type: 'ovs' } })],
    ],
    ['an instance without a NIC', 6, [port('x', 'n', { instance: 'i' })]],
    ['a NIC without an instance', 6, [port('x', 'n', { nic: 0 })]],
    ['a NIC of two ports', 6, [port('x', 'n', { instance: 'i', nic: 0 })]],
    [
      'a bound port without an instance',
      6,
      [port('x', 'n', { serial: 1, binding: { host: 'h1', serial: 1, type: 'ovs' } })],
    ],
    ['a bind’s address without an instance', 6, [port('x', 'n', { addresses: [at('10.0.0.5', 's', 'bind')] })]],
    [
      'a port at a host and a node',
      8,
      [port('x', 'n', { instance: 'i', nic: 0, serial: 1, binding: { host: 'h1', node: 'm1', serial: 1, type: 'x' } })],
    ],
    [
      'a port that is bound, and nowhere',
      8,
      [port('x', 'n', { instance: 'i', nic: 0, serial: 1, binding: { serial: 1, type: 'x' } })],
    ],
    [
      'a node under the serial of a host',
      5,
      [
        port('q', 'r', {
          instance: 'i',
          nic: 0,
          serial: 2,
          binding: { node: 'h1', serial: 2, segment: 'a', type: 'x' },
        }),
      ],
    ],
    ['more claimed than there is', 7, [claim('i', { pool: 'network:n', version: 4, count: 5 })]],
  ])('%s', (_name, nth, changes) => {
    expect(violationsOf(world(), changes, NETWORK_INVARIANTS)).toContain(NETWORK_INVARIANTS[nth]?.name);
  });

  test('a valid fleet breaks none of them', () => {
    const changes = [
      port('x', 'r', { instance: 'i', nic: 1, addresses: [at('10.1.0.3', 'sa', 'bind')] }),
      claim('i', { pool: 'network:n', version: 4, count: 4 }),
      remove(SUBNET, 'sb' as never),
      remove(SEGMENT, 'b' as never),
    ];
    expect(violationsOf(world(), changes, NETWORK_INVARIANTS)).toEqual([]);
  });

  test('a back end outside the journal may give out a claimed address', () => {
    const fleet = fleetWith(network('sim', { backEnd: 'simulated' }), subnet('s', 'sim', '10.0.0.0/30'));
    const changes = [claim('i', { pool: 'network:sim', version: 4, count: 2 })];
    expect(violationsOf(fleet, changes, NETWORK_INVARIANTS)).toEqual([]);
    expect(fleet.count(NETWORK)).toBe(1);
  });
});
