import { describe, expect, test } from 'vitest';
import { put, type Fleet } from '../../fleet/index.ts';
import { canonicalizeAddresses } from '../addresses/allocation.ts';
import { bindPorts, recordPortBound, releasePort, recordPortCreated, unbindPort, type BindResult } from './bind.ts';
import { PORT, type Address, type Network, type Port } from '../model.ts';
import type { PoolKey } from './nic-requirements.ts';
import { claim, commit, fleetWith, host, network, port, portDoc, segment, subnet, WHO } from '../network-fixture.ts';
import { stockOf } from '../addresses/stock.ts';
import type { StoredPort } from '../networks/topology.ts';

/** h1 reaches a and b, h2 only a; `r` is routed, b is dual-stack, c has two addresses; `n` is plain. */
function world(facts: Partial<Network> = {}): Fleet {
  return fleetWith(
    host('h1', 'phys-a', 'phys-b', 'phys-c'),
    host('h2', 'phys-a'),
    network('r', facts),
    segment('a', 'r'),
    segment('b', 'r'),
    segment('c', 'r'),
    subnet('sa', 'r', '10.1.0.0/24', { segment: 'a' }),
    subnet('sb', 'r', '10.1.1.0/24', { segment: 'b' }),
    subnet('sb6', 'r', '2001:db8:1::/64', { segment: 'b' }),
    subnet('sc', 'r', '10.1.2.0/29', { segment: 'c', pools: [{ first: '10.1.2.2', last: '10.1.2.3' }] }),
    network('n', facts),
    subnet('s', 'n', '10.0.0.0/24'),
  );
}

const at = (ip: string, of: string, chosenBy: Address['chosenBy']): Address => ({ ip, subnet: of, chosenBy });
const preparePort = (fleet: Fleet, id: string, facts: Partial<Port> = {}, on = 'r'): StoredPort => {
  commit(fleet, [port(id, on, { createdBy: 'muster', instance: 'i', nic: Number(id.slice(1)), ...facts })]);
  return { id: id as never, revision: fleet.revision, doc: portDoc(fleet, id) };
};
const bind = (fleet: Fleet, requests: readonly (readonly [StoredPort, PoolKey])[], on = 'h1'): BindResult =>
  bindPorts(
    fleet,
    requests.map(([one, pool]) => ({ port: one, pool })),
    { host: on, ...WHO },
  );

function bindOrThrow(fleet: Fleet, requests: readonly (readonly [StoredPort, PoolKey])[], on = 'h1'): Port[] {
  const found = bind(fleet, requests, on);
  if (found.kind === 'fault') throw new Error(found.fault.code);
  commit(
    fleet,
    found.ports.map(({ id, doc }) => put(PORT, id, doc)),
  );
  return found.ports.map(({ doc }) => doc);
}

describe('binding', () => {
  test('a deferred port gets its address with its host (scheduling-3)', () => {
    const fleet = world();
    expect(bindOrThrow(fleet, [[preparePort(fleet, 'p0'), 'segment:a']])).toMatchObject([
      {
        state: 'made',
        ipAllocation: 'deferred',
        addresses: [{ ip: '10.1.0.2', subnet: 'sa', chosenBy: 'bind' }],
        binding: { host: 'h1', serial: 1, segment: 'a', type: 'ovs' },
        serial: 1,
        changedBy: 'ann',
      },
    ]);
  });

  test('scheduling-7: a dual-stack segment gives one of each version', () => {
    const fleet = world();
    const [doc] = bindOrThrow(fleet, [[preparePort(fleet, 'p0'), 'segment:b']]);
    expect(doc?.addresses.map(({ ip, subnet: of }) => [ip, of])).toEqual([
      ['10.1.1.2', 'sb'],
      ['2001:db8:1::2', 'sb6'],
    ]);
  });

  test('scheduling-10: a port without addresses is bound where the host reaches it, and stays without', () => {
    const fleet = world();
    const [doc] = bindOrThrow(fleet, [[preparePort(fleet, 'p0', { ipAllocation: 'none' }), 'segment:a']]);
    expect(doc).toMatchObject({ addresses: [], binding: { host: 'h1', segment: 'a' } });
  });

  test('NICs of one call never get the same address', () => {
    const fleet = world();
    const requests = [0, 1].map((nic) => [preparePort(fleet, `p${nic}`), 'segment:c'] as const);
    const docs = bindOrThrow(fleet, requests);
    expect(docs.map(({ addresses }) => addresses[0]?.ip)).toEqual(['10.1.2.2', '10.1.2.3']);
  });

  test('a NIC does not get an address that a later one of the same call holds', () => {
    const fleet = world();
    const first = preparePort(fleet, 'p0');
    const requested: StoredPort = {
      ...first,
      doc: { ...first.doc, nic: 1, addresses: [at('10.1.2.2', 'sc', 'user')] },
    };
    const found = bind(fleet, [
      [first, 'segment:c'],
      [{ ...requested, id: 'p1' as never }, 'segment:c'],
    ]);
    const ports = found.kind === 'bound' ? found.ports : [];
    expect(ports.map(({ doc }) => doc.addresses[0]?.ip)).toEqual(['10.1.2.3', '10.1.2.2']);
  });

  test('on a plain network the port keeps what it has, and no segment is named', () => {
    const fleet = world();
    const held = [at('10.0.0.9', 's', 'create')];
    const [doc] = bindOrThrow(fleet, [
      [preparePort(fleet, 'p0', { ipAllocation: 'immediate', addresses: held }, 'n'), 'network:n'],
    ]);
    expect(doc).toMatchObject({ addresses: held, binding: { host: 'h1', serial: 1, type: 'ovs' } });
    expect(doc?.binding?.segment).toBeUndefined();
  });

  test('hosts that do their own networking get everything here', () => {
    const fleet = world({ backEnd: 'host-local' });
    const [doc] = bindOrThrow(fleet, [[preparePort(fleet, 'p0', { state: 'wanted' }, 'n'), 'network:n']]);
    expect(doc).toMatchObject({
      state: 'made',
      addresses: [{ ip: '10.0.0.2', chosenBy: 'bind' }],
      binding: { type: 'bridge' },
    });
  });

  test('addresses from an earlier bind are kept in their segment and dropped in another (R16)', () => {
    const fleet = world();
    const again = (pool: PoolKey) => {
      const binding = { addresses: [at('10.1.0.77', 'sa', 'bind')], serial: 4 };
      return bind(fleet, [[preparePort(fleet, 'p0', binding), pool]]);
    };
    expect(again('segment:a')).toMatchObject({ ports: [{ doc: { addresses: [{ ip: '10.1.0.77' }], serial: 5 } }] });
    expect(again('segment:b')).toMatchObject({
      ports: [{ doc: { addresses: [{ ip: '10.1.1.2' }, { ip: '2001:db8:1::2' }], binding: { serial: 5 } } }],
    });
  });

  test('a claimed address becomes a held one: the sum is the same (R24)', () => {
    const fleet = world();
    commit(fleet, [claim('i', { pool: 'segment:c', version: 4, count: 1 })]);
    const before = stockOf(fleet).free('segment:c', 4);
    const found = bind(fleet, [[preparePort(fleet, 'p0'), 'segment:c']]);
    if (found.kind === 'fault') throw new Error('fault');
    commit(fleet, [claim('i'), ...found.ports.map(({ id, doc }) => put(PORT, id, doc))]);
    expect(stockOf(fleet).free('segment:c', 4)).toBe(before);
  });
});

describe('what stops a binding', () => {
  test('an empty pool, named with its NIC', () => {
    const fleet = world();
    const requests = [0, 1, 2].map((nic) => [preparePort(fleet, `p${nic}`), 'segment:c'] as const);
    expect(bind(fleet, requests)).toEqual({ kind: 'fault', nic: 2, fault: { code: 'pool-empty', pool: 'segment:c' } });
  });

  test.each<[string, PoolKey, string, string]>([
    ['the host does not reach it', 'segment:b', 'h2', 'r'],
    ['there is no such segment', 'segment:mars', 'h1', 'r'],
    ['there is no such host', 'segment:a', 'mars', 'r'],
    ['the network is routed', 'network:r', 'h1', 'r'],
    ['the segment is another network’s', 'segment:a', 'h1', 'n'],
    ['the pool is another network’s', 'network:r', 'h1', 'n'],
  ])('the mapping is gone: %s', (_name, pool, on, net) => {
    const fleet = world();
    expect(bind(fleet, [[preparePort(fleet, 'p0', {}, net), pool]], on)).toEqual({
      kind: 'fault',
      nic: 0,
      fault: { code: 'mapping-gone', pool },
    });
  });

  test('scheduling-11: a host that lost its mapping since it was chosen gets no binding', () => {
    const fleet = world();
    const prepared = preparePort(fleet, 'p0');
    commit(fleet, [host('h1', 'phys-b')]);
    expect(bind(fleet, [[prepared, 'segment:a']])).toMatchObject({ fault: { code: 'mapping-gone' } });
  });

  test('an address that a user chose is not moved elsewhere', () => {
    const fleet = world();
    for (const chosenBy of ['user', 'create'] as const) {
      const held = { ipAllocation: 'immediate' as const, addresses: [at('10.1.0.9', 'sa', chosenBy)] };
      expect(bind(fleet, [[preparePort(fleet, 'p0', held), 'segment:b']])).toEqual({
        kind: 'fault',
        nic: 0,
        fault: { code: 'address-not-carried', ip: '10.1.0.9' },
      });
    }
  });

  test('scheduling-20: one NIC that cannot be bound leaves the others as they are', () => {
    const fleet = world();
    const requests = [
      [preparePort(fleet, 'p0'), 'segment:a'],
      [preparePort(fleet, 'p1'), 'segment:b'],
      [preparePort(fleet, 'p2'), 'segment:mars'],
    ] as const;
    expect(bind(fleet, requests)).toMatchObject({ kind: 'fault', nic: 2 });
    expect(portDoc(fleet, 'p0').binding).toBeUndefined();
  });
});

const ANY = portDoc(fleetWith(network('n'), port('p', 'n')), 'p');
const BOUND: Port = {
  ...ANY,
  instance: 'i',
  nic: 0,
  tag: 'front',
  serial: 3,
  binding: { host: 'h1', serial: 3, type: 'ovs' },
  addresses: [at('10.0.0.7', 's', 'user'), at('10.0.0.8', 's', 'bind')],
  dnsName: 'i',
};

describe('answers of outside back ends', () => {
  test('a bind reports address, MAC and type; known addresses keep their origin', () => {
    const answer = { host: 'h9', serial: 4, segment: 'a', type: 'sriov', mac: '52:00:00:00:00:09', ...WHO };
    const addresses = [
      { ip: '10.0.0.7', subnet: 's' },
      { ip: '10.0.0.9', subnet: 's' },
    ];
    expect(recordPortBound({ ...BOUND, state: 'wanted' }, { ...answer, addresses })).toMatchObject({
      state: 'made',
      mac: '52:00:00:00:00:09',
      addresses: [at('10.0.0.7', 's', 'user'), at('10.0.0.9', 's', 'bind')],
      binding: { host: 'h9', serial: 4, segment: 'a', type: 'sriov' },
      serial: 4,
    });
    expect(recordPortBound({ ...BOUND, serial: 7 }, { ...answer, addresses: [] }).serial).toBe(7);
  });

  test('a port that was created there has the addresses that were picked there', () => {
    const made = recordPortCreated(
      { ...ANY, state: 'wanted' },
      { addresses: [{ ip: '10.0.0.5', subnet: 's' }], ...WHO },
    );
    expect(made).toMatchObject({ state: 'made', mac: ANY.mac, addresses: [at('10.0.0.5', 's', 'create')] });
  });
});

describe('addresses from outside back ends', () => {
  const had = at('fd00::a', 's6', 'user');
  const reported = ['FD00:0:0:0:0:0:0:A', 'fd00::000b', 'fd00::b'].map((ip) => ({ ip, subnet: 's6' }));

  test('each is canonical, so that a known address is recognised and has one owner', () => {
    const answer = { host: 'h9', serial: 4, type: 'ovs', addresses: reported, ...WHO };
    expect(recordPortBound({ ...BOUND, addresses: [had] }, answer).addresses).toEqual([
      had,
      at('fd00::b', 's6', 'bind'),
    ]);
    const made = recordPortCreated({ ...ANY, addresses: [had] }, { addresses: reported, ...WHO });
    expect(made.addresses).toEqual([had, at('fd00::b', 's6', 'create')]);
  });

  test.each(['10.0.0.300', '010.0.0.1', 'fd00::g', '', '10.0.0.1/24'])(
    '%j is no address, and refuses the list with it',
    (ip) => {
      expect(canonicalizeAddresses([...reported, { ip, subnet: 's6' }])).toBeUndefined();
    },
  );
});

describe('the end of a binding', () => {
  test('unbound: the addresses stay, the serial grows', () => {
    const { binding, serial, addresses, instance } = unbindPort(BOUND, WHO);
    expect({ binding, serial, addresses, instance }).toEqual({
      binding: undefined,
      serial: 4,
      addresses: BOUND.addresses,
      instance: 'i',
    });
  });

  const stored = (doc: Port): StoredPort => ({ id: 'p' as never, revision: 1, doc });

  test('a port that Muster created is deleted (R9)', () => {
    const changes = releasePort(fleetWith(), stored({ ...BOUND, createdBy: 'muster' }), { wasActive: true, ...WHO });
    expect(changes).toEqual([{ kind: 'port', id: 'p', doc: null }]);
  });

  test('after an instance that ran, a user’s port keeps its addresses and loses its instance’s name', () => {
    const doc = releasePort(fleetWith(), stored(BOUND), { wasActive: true, ...WHO })[0]?.doc;
    const { instance: _i, nic: _n, tag: _t, binding: _b, dnsName: _d, ...rest } = BOUND;
    expect(doc).toEqual({
      ...rest,
      addresses: [at('10.0.0.7', 's', 'user'), at('10.0.0.8', 's', 'user')],
      serial: 4,
      changedBy: 'ann',
      changedAtMs: 7,
    });
  });

  test('after a failed build, a user’s port is as it was before (R14)', () => {
    const doc = releasePort(fleetWith(), stored({ ...BOUND, dnsName: 'web' }), { wasActive: false, ...WHO })[0]?.doc;
    const { instance: _i, nic: _n, tag: _t, binding: _b, ...rest } = BOUND;
    expect(doc).toEqual({
      ...rest,
      dnsName: 'web',
      addresses: [at('10.0.0.7', 's', 'user')],
      serial: 4,
      changedBy: 'ann',
      changedAtMs: 7,
    });
  });
});
