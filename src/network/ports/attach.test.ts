import { describe, expect, test } from 'vitest';
import { runTrial, put, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { nicRequirementsOf, attachNicPort, type NicAttachment } from './attach.ts';
import { isReservedMac, encodeMac } from '../addresses/mac.ts';
import { PORT, type Address, type Network, type NetworkId, type Port } from '../model.ts';
import { claim, commit, fleetWith, network, port, portDoc, segment, subnet, WHO } from '../network-fixture.ts';
import { isRefusal } from '../refusal.ts';

function world(facts: Partial<Network> = {}): Fleet {
  return fleetWith(
    network('n', facts),
    subnet('s', 'n', '10.0.0.0/24'),
    subnet('s6', 'n', '2001:db8::/64'),
    network('r', facts),
    segment('a', 'r'),
    segment('b', 'r'),
    segment('everywhere', 'r', { type: 'vxlan', physicalNetwork: undefined } as never),
    segment('bare', 'r'),
    segment('dyn', 'r', { dynamic: true }),
    subnet('sa', 'r', '10.1.0.0/24', { segment: 'a' }),
    subnet('sb', 'r', '10.1.1.0/24', { segment: 'b' }),
    subnet('sb6', 'r', '2001:db8:1::/64', { segment: 'b' }),
    subnet('se', 'r', '10.1.2.0/24', { segment: 'everywhere' }),
    subnet('sbare', 'r', '10.1.3.0/24', { segment: 'bare', pools: [] }),
    network('tiny', facts),
    subnet('t', 'tiny', '10.3.0.0/30'),
  );
}

const OF: NicAttachment = { instance: 'web', nic: 0, project: 'default', portId: 'p', nth: 0, ...WHO };
const newNic = (id: string, fixedIps: readonly { ip: string; subnet: string }[] = []) =>
  ({ kind: 'new', network: id as NetworkId, fixedIps }) as const;

function attachOrThrow(fleet: FleetReader, id: string, of: Partial<NicAttachment> = {}): Port {
  const found = attachNicPort(fleet, newNic(id), { ...OF, ...of });
  if (isRefusal(found)) throw new Error(found.message);
  return found.doc;
}

describe('the port of a NIC', () => {
  test('scheduling-13: a port that Muster creates is attached, has no host, and says who made it', () => {
    const fleet = world({ qosPolicy: 'gold', minBandwidthKbps: 100 });
    const nic = { ...newNic('r'), tag: 'front' };
    const found = attachNicPort(fleet, nic, { ...OF, nic: 2, securityGroups: ['web'] });
    expect(found).toMatchObject({
      id: 'p',
      doc: {
        network: 'r',
        createdBy: 'muster',
        state: 'made',
        instance: 'web',
        nic: 2,
        tag: 'front',
        ipAllocation: 'deferred',
        addresses: [],
        serial: 0,
        qosPolicy: 'gold',
        minBandwidthKbps: 100,
        portSecurity: true,
        securityGroups: ['web'],
      },
    });
    expect('binding' in (found as { doc: Port }).doc).toBe(false);
  });

  test('on a plain network it gets one address of each version at once', () => {
    expect(attachOrThrow(world(), 'n')).toMatchObject({
      ipAllocation: 'immediate',
      addresses: [
        { ip: '10.0.0.2', subnet: 's', chosenBy: 'create' },
        { ip: '2001:db8::2', subnet: 's6', chosenBy: 'create' },
      ],
    });
  });

  test('a requested address is the user’s choice', () => {
    const found = attachNicPort(world(), newNic('r', [{ ip: '10.1.1.9', subnet: 'sb' }]), OF);
    expect(found).toMatchObject({
      doc: { ipAllocation: 'immediate', addresses: [{ ip: '10.1.1.9', subnet: 'sb', chosenBy: 'user' }] },
    });
  });

  test.each([
    ['host-local', 'n', 'deferred'],
    ['host-local', 'r', 'deferred'],
    ['simulated', 'n', 'immediate'],
    ['simulated', 'r', 'deferred'],
  ] as const)(
    'a %s back end has not created it yet: on %s it is %s without an address',
    (backEnd, id, ipAllocation) => {
      expect(attachOrThrow(world({ backEnd }), id)).toMatchObject({ state: 'wanted', ipAllocation, addresses: [] });
    },
  );

  test('ports of one decision see each other: neither address nor MAC is given twice', () => {
    const fleet = world();
    const ports = runTrial(fleet, (trial) =>
      [0, 1, 2].map((nth) => {
        const doc = attachOrThrow(trial, 'n', { nic: nth, nth, revision: fleet.revision });
        trial.add([put(PORT, `p${nth}` as never, doc)]);
        return doc;
      }),
    );
    expect(ports.map(({ addresses }) => addresses[0]?.ip)).toEqual(['10.0.0.2', '10.0.0.3', '10.0.0.4']);
    expect(new Set(ports.map(({ mac }) => mac)).size).toBe(3);
    expect(ports.map(({ mac }) => mac)).toEqual([0, 1, 2].map((nth) => encodeMac(fleet.revision, nth)));
  });

  test('addresses that the same commit gives out elsewhere can be excluded by name', () => {
    expect(attachOrThrow(world(), 'n', { taken: new Set(['s|10.0.0.2']) }).addresses[0]?.ip).toBe('10.0.0.3');
  });

  test('a MAC address that is already used by chance is skipped', () => {
    const fleet = world();
    commit(fleet, [port('luck', 'r', { mac: encodeMac(fleet.revision + 1, 0) })]);
    expect(attachOrThrow(fleet, 'r').mac).not.toBe(portDoc(fleet, 'luck').mac);
  });

  test('an exhausted pool is refused at once', () => {
    const fleet = world();
    commit(fleet, [claim('i', { pool: 'network:tiny', version: 4, count: 1 })]);
    expect(attachNicPort(fleet, newNic('tiny'), OF)).toMatchObject({
      kind: 'conflict',
      code: 'addresses-exhausted',
      facts: { network: 'tiny' },
    });
    expect(attachNicPort(fleet, newNic('mars'), OF)).toMatchObject({ code: 'unknown-network' });
  });

  test('a user’s port is used as it is, with its instance and NIC', () => {
    const fleet = world();
    commit(fleet, [port('u', 'r', { name: 'mine', tag: 'old', securityGroups: ['own'] })]);
    const stored = { id: 'u', revision: 1, doc: portDoc(fleet, 'u') } as never;
    const found = attachNicPort(
      fleet,
      { kind: 'port', port: stored, tag: 'new' },
      { ...OF, nic: 1, securityGroups: ['web'] },
    );
    expect(found).toMatchObject({
      id: 'u',
      doc: { ...portDoc(fleet, 'u'), instance: 'web', nic: 1, tag: 'new', changedBy: 'ann', changedAtMs: 7 },
    });
    const again = attachNicPort(fleet, { kind: 'port', port: { ...(found as object) } as never }, OF);
    expect('tag' in (again as { doc: Port }).doc).toBe(false);
    expect(attachNicPort(fleet, { kind: 'port', port: found as never }, { ...OF, instance: 'other' })).toMatchObject({
      code: 'port-in-use',
    });
  });
});

describe('the requirements of a port on a host', () => {
  const at = (ip: string, of: string, chosenBy: Address['chosenBy']): Address => ({ ip, subnet: of, chosenBy });
  const need = (facts: Partial<Port>, wasActive = false, id = 'r') => {
    const fleet = world();
    commit(fleet, [port('p', id, { instance: 'i', nic: 0, ...facts })]);
    return nicRequirementsOf(fleet, portDoc(fleet, 'p'), { wasActive }).choices;
  };
  const A = { pool: 'segment:a', physicalNetwork: 'phys-a' };
  const B = { pool: 'segment:b', physicalNetwork: 'phys-b' };
  const EVERYWHERE = { pool: 'segment:everywhere' };
  const BARE = { pool: 'segment:bare', physicalNetwork: 'phys-bare' };

  test('deferred without address: a new one of each version, in any segment that has some (R6)', () => {
    expect(need({})).toEqual([
      { ...A, takes: [4] },
      { ...B, takes: [4, 6] },
      { ...EVERYWHERE, takes: [4] },
    ]);
  });

  test('none: it goes wherever the network is, and claims nothing', () => {
    expect(need({ ipAllocation: 'none' })).toEqual(
      [A, B, BARE, EVERYWHERE].map((choice) => ({ ...choice, takes: [] })),
    );
  });

  test('a user’s address pins it to its segment (R17)', () => {
    expect(need({ ipAllocation: 'immediate', addresses: [at('10.1.1.9', 'sb', 'user')] })).toEqual([
      { ...B, takes: [] },
    ]);
    expect(need({ ipAllocation: 'immediate', addresses: [at('10.1.1.9', 'sb', 'create')] })).toEqual([
      { ...B, takes: [] },
    ]);
  });

  test('addresses from an earlier bind may be kept or dropped (R16)', () => {
    expect(need({ addresses: [at('10.1.1.9', 'sb', 'bind')] })).toEqual([
      { ...B, takes: [] },
      { ...A, takes: [4] },
      { ...EVERYWHERE, takes: [4] },
    ]);
  });

  test('an instance that ran keeps it (R18)', () => {
    expect(need({ addresses: [at('10.1.1.9', 'sb', 'bind')] }, true)).toEqual([{ ...B, takes: [] }]);
  });

  test('a plain network is one pool that every host reaches (R3)', () => {
    expect(need({ ipAllocation: 'immediate', addresses: [at('10.0.0.9', 's', 'create')] }, false, 'n')).toEqual([
      { pool: 'network:n', takes: [] },
    ]);
    expect(need({}, false, 'n')).toEqual([{ pool: 'network:n', takes: [4, 6] }]);
  });

  test('bandwidth and a PCI device are part of the requirement', () => {
    const fleet = world();
    commit(fleet, [port('p', 'r', { minBandwidthKbps: 500, pciRequest: 'sriov' })]);
    expect(nicRequirementsOf(fleet, portDoc(fleet, 'p'), { wasActive: false })).toMatchObject({
      network: 'r',
      minBandwidthKbps: 500,
      pciRequest: 'sriov',
    });
  });

  test('choices are computed once, until the network changes', () => {
    const fleet = world();
    commit(fleet, [port('p', 'r')]);
    const choices = () => nicRequirementsOf(fleet, portDoc(fleet, 'p'), { wasActive: false }).choices;
    const before = choices();
    commit(fleet, [port('q', 'r')]);
    expect(choices()).toBe(before);
    commit(fleet, [segment('c', 'r'), subnet('sc', 'r', '10.1.9.0/24', { segment: 'c' })]);
    expect(choices()).toHaveLength(4);
  });
});

describe('MAC addresses', () => {
  test('are local, unicast, ours, and never the same', () => {
    const macs = [0, 1, 2, 1000, 2 ** 28 - 1, 2 ** 28, 2 ** 30 - 1].flatMap((revision) =>
      [0, 1, 4095].map((nth) => encodeMac(revision, nth)),
    );
    expect(new Set(macs).size).toBe(macs.length);
    expect(macs[0]).toBe('02:00:00:00:00:00');
    expect(encodeMac(1, 1)).toBe('02:00:00:00:10:01');
    expect(encodeMac(2 ** 28, 0)).toBe('06:00:00:00:00:00');
    for (const mac of macs) {
      expect(PORT.check({ ...portDoc(fleetWith(network('n'), port('p', 'n')), 'p'), mac })).toBeUndefined();
      expect(isReservedMac(mac)).toBe(true);
    }
    expect(isReservedMac('52:54:00:00:00:00')).toBe(false);
  });
});
