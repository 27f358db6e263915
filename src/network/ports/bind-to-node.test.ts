// Ports of instances on bare-metal nodes: wired segments alone, addresses of the segment that the node reaches, all ports or none.
import { describe, expect, test } from 'vitest';
import { idOf, put, type Change, type Fleet } from '../../fleet/index.ts';
import { claim, commit, fleetWith, host, network, port, portDoc, segment, subnet } from '../network-fixture.ts';
import { NETWORK, PORT, type Segment } from '../model.ts';
import { bindPorts } from './bind.ts';
import { bindPortsToNode, composeWiredPorts, wiredPlacesOf, wiringProblem } from './bind-to-node.ts';
import type { StoredPort } from '../networks/topology.ts';

/** Routed network `n` with segments in two racks and one on a tunnel; plain network `lan`. */
function racks(...more: Parameters<typeof fleetWith>): Fleet {
  return fleetWith(
    network('n'),
    segment('a', 'n', { physicalNetwork: 'rack-a', segmentationId: 100 }),
    segment('b', 'n', { physicalNetwork: 'rack-b', type: 'flat' }),
    subnet('sub-b', 'n', '10.1.0.0/24', { segment: 'b' }),
    network('lan'),
    subnet('lan', 'lan', '192.168.0.0/24'),
    ...more,
  );
}

/** A segment on no physical network. */
function tunnel(name: string, of: string): Change {
  const change = segment(name, of, { type: 'vxlan' });
  const { physicalNetwork: _, ...doc } = change.doc as Segment;
  return { ...change, doc };
}

const SUB_A = subnet('sub-a', 'n', '10.0.0.0/29', { segment: 'a' });
const mine = { instance: 'db', nic: 0 };

function stored(fleet: Fleet, ...ids: string[]): StoredPort[] {
  return ids.map((id) => fleet.get(PORT, idOf(PORT, id))!);
}

function bind(fleet: Fleet, physicalNetworks: string[], ...ids: string[]) {
  const result = bindPortsToNode(fleet, stored(fleet, ...ids), { node: 'n1', physicalNetworks, by: 'ann', nowMs: 9 });
  if (result.kind === 'bound')
    commit(
      fleet,
      result.ports.map(({ id, doc }) => put(PORT, id, doc)),
    );
  return result.kind === 'bound' ? 'bound' : `${result.code}: NIC ${result.nic} on ${result.network}`;
}

const ips = (fleet: Fleet, id: string): string[] => portDoc(fleet, id).addresses.map(({ ip }) => ip);

describe('binding to a node', () => {
  test('takes-an-address-of-the-segment-that-the-node-reaches', () => {
    const fleet = racks(SUB_A, port('p', 'n', mine));
    expect(bind(fleet, ['rack-b'], 'p')).toBe('bound');
    expect(portDoc(fleet, 'p')).toMatchObject({
      addresses: [{ ip: '10.1.0.2', subnet: 'sub-b', chosenBy: 'bind' }],
      binding: { node: 'n1', serial: 1, segment: 'b', type: 'baremetal' },
      serial: 1,
      changedBy: 'ann',
    });
    expect(portDoc(fleet, 'p').binding?.host).toBeUndefined();
  });

  test('goes-to-the-next-segment-where-the-first-has-no-address-left', () => {
    const fleet = racks(SUB_A, claim('x', { pool: 'segment:a', version: 4, count: 5 }), port('p', 'n', mine));
    expect(bind(fleet, ['rack-a', 'rack-b'], 'p')).toBe('bound');
    expect(ips(fleet, 'p')).toEqual(['10.1.0.2']);
  });

  test.each([
    ['reaches-no-segment', ['rack-c'], 'not-wired: NIC 0 on n'],
    ['reaches-a-segment-without-addresses', ['rack-a'], 'addresses-exhausted: NIC 0 on n'],
  ])('%s: nothing is bound', (_name, physicalNetworks, words) => {
    const fleet = racks(SUB_A, claim('x', { pool: 'segment:a', version: 4, count: 5 }), port('p', 'n', mine));
    expect(bind(fleet, physicalNetworks, 'p')).toBe(words);
    expect(portDoc(fleet, 'p')).toMatchObject({ addresses: [], serial: 0 });
  });

  test('two-nics-of-one-call-get-two-addresses, and-no-more-than-there-are', () => {
    const fleet = racks(
      SUB_A,
      claim('x', { pool: 'segment:a', version: 4, count: 4 }),
      port('p', 'n', mine),
      port('q', 'n', { instance: 'db', nic: 1 }),
    );
    expect(bind(fleet, ['rack-a'], 'p', 'q')).toBe('addresses-exhausted: NIC 1 on n');
    expect(bind(fleet, ['rack-a', 'rack-b'], 'p', 'q')).toBe('bound');
    expect([ips(fleet, 'p'), ips(fleet, 'q')]).toEqual([['10.0.0.2'], ['10.1.0.2']]);
  });

  test('two-nics-in-one-segment-never-share-an-address', () => {
    const fleet = racks(SUB_A, port('p', 'n', mine), port('q', 'n', { instance: 'db', nic: 1 }));
    bind(fleet, ['rack-b'], 'p', 'q');
    expect([ips(fleet, 'p'), ips(fleet, 'q')]).toEqual([['10.1.0.2'], ['10.1.0.3']]);
  });

  test('an-address-that-was-asked-for-is-kept, where-it-is', () => {
    const fixed = { addresses: [{ ip: '10.0.0.4', subnet: 'sub-a', chosenBy: 'user' as const }] };
    const fleet = racks(SUB_A, port('p', 'n', { ...mine, ...fixed, ipAllocation: 'immediate' }));
    expect(bind(fleet, ['rack-b'], 'p')).toBe('not-wired: NIC 0 on n');
    expect(bind(fleet, ['rack-a', 'rack-b'], 'p')).toBe('bound');
    expect([ips(fleet, 'p'), portDoc(fleet, 'p').binding?.segment]).toEqual([['10.0.0.4'], 'a']);
  });

  test('a-port-without-addresses-is-bound-without-one', () => {
    const fleet = racks(SUB_A, port('p', 'n', { ...mine, ipAllocation: 'none' }));
    expect(bind(fleet, ['rack-b'], 'p')).toBe('bound');
    expect(ips(fleet, 'p')).toEqual([]);
  });

  test('never: a node is connected over a tunnel or a plain network', () => {
    const onTunnel = subnet('sub-t', 'n', '10.9.0.0/24', { segment: 't' });
    const fleet = racks(
      SUB_A,
      tunnel('t', 'n'),
      onTunnel,
      port('p', 'lan', mine),
      port('q', 'n', { instance: 'db', nic: 1 }),
    );
    expect(bind(fleet, ['rack-a', 'rack-b', ''], 'p')).toBe('not-wired: NIC 0 on lan');
    expect(bind(fleet, ['rack-c', ''], 'q')).toBe('not-wired: NIC 0 on n');
  });

  test('the-serial-grows-with-every-binding, whichever-it-is-to', () => {
    const fleet = racks(SUB_A, host('h1', 'rack-b'), port('p', 'n', mine));
    const bound = bindPorts(fleet, [{ port: stored(fleet, 'p')[0]!, pool: 'segment:b' }], {
      host: 'h1',
      by: 'x',
      nowMs: 1,
    });
    if (bound.kind === 'bound')
      commit(
        fleet,
        bound.ports.map(({ id, doc }) => put(PORT, id, doc)),
      );
    bind(fleet, ['rack-b'], 'p');
    expect(portDoc(fleet, 'p')).toMatchObject({ serial: 2, binding: { node: 'n1', serial: 2 } });
  });

  test('the-driver-gets-what-a-switch-port-is-set-up-with', () => {
    const fleet = racks(SUB_A, port('p', 'n', mine));
    bind(fleet, ['rack-a'], 'p');
    const { mac } = portDoc(fleet, 'p');
    expect(composeWiredPorts(fleet, ['p', 'nobody'])).toEqual([
      { port: 'p', serial: 1, mac, segment: 'a', physicalNetwork: 'rack-a', type: 'vlan', segmentationId: 100 },
    ]);
  });

  test('a-node-has-to-be-wired-to-one-physical-network-for-each-port, with-addresses-left', () => {
    const fixed = { addresses: [{ ip: '10.0.0.4', subnet: 'sub-a', chosenBy: 'user' as const }] };
    const places = (...more: Change[]) => {
      const fleet = racks(
        SUB_A,
        port('p', 'n', mine),
        port('q', 'n', { ...fixed, ipAllocation: 'immediate' }),
        ...more,
      );
      return wiredPlacesOf(fleet, [portDoc(fleet, 'p'), portDoc(fleet, 'q')]);
    };
    const q = { network: 'n', physicalNetworks: ['rack-a'], isExhausted: false };
    expect(places()).toEqual([{ network: 'n', physicalNetworks: ['rack-a', 'rack-b'], isExhausted: false }, q]);
    expect(places(claim('x', { pool: 'segment:a', version: 4, count: 4 }))).toEqual([
      { network: 'n', physicalNetworks: ['rack-b'], isExhausted: true },
      q,
    ]);
  });
});

describe('a request for networks of a node', () => {
  const nic = (of: string) => ({ kind: 'new', network: idOf(NETWORK, of), fixedIps: [] }) as const;
  const others = racks(
    SUB_A,
    network('far', { backEnd: 'simulated' }),
    network('tunnel'),
    tunnel('t', 'tunnel'),
    subnet('sub-t', 'tunnel', '10.9.0.0/24', { segment: 't' }),
    port('mine', 'lan'),
  );

  test.each([
    ['a-wired-segment', [nic('n')], undefined],
    ['a-plain-network', [nic('n'), nic('lan')], { code: 'network-not-wired', field: '/networks/1' }],
    ['a-tunnel', [nic('tunnel')], { code: 'network-not-wired', field: '/networks/0' }],
    ['another-back-end', [nic('far')], { code: 'back-end-without-nodes', field: '/networks/0' }],
    [
      'a-port-that-is-there',
      [{ kind: 'port', port: stored(others, 'mine')[0]! } as const],
      { code: 'network-not-wired', field: '/networks/0' },
    ],
  ])('%s', (_name, nics, problem) => {
    const found = wiringProblem(others, nics);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(problem);
  });
});
