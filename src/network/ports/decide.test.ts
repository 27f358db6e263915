import { describe, expect, test } from 'vitest';
import { put, type Fleet } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { createPort, editPort, type CreatePort, type EditPort } from './decide.ts';
import type { Port } from '../model.ts';
import {
  commitAccepted,
  claim,
  commit,
  fleetWith,
  network,
  port,
  portDoc,
  segment,
  subnet,
  WHO,
} from '../network-fixture.ts';
import { QUOTA, type QuotaId } from '../quotas/quota.ts';

/** `n` is plain, `r` routed over `a` and `b` (dual stack), `d` is dual-stack and plain, `tiny` has one address. */
function world(): Fleet {
  return fleetWith(
    network('n'),
    subnet('s', 'n', '10.0.0.0/24'),
    network('r'),
    segment('a', 'r'),
    segment('b', 'r'),
    subnet('sa', 'r', '10.1.0.0/24', { segment: 'a' }),
    subnet('sb', 'r', '10.1.1.0/24', { segment: 'b' }),
    subnet('sb6', 'r', '2001:db8:1::/64', { segment: 'b' }),
    network('d'),
    subnet('d4', 'd', '10.2.0.0/24'),
    subnet('d6', 'd', '2001:db8:2::/64'),
    network('tiny'),
    subnet('t', 'tiny', '10.3.0.0/30'),
    network('bare'),
    network('blue', { project: 'blue' }),
    subnet('sblue', 'blue', '10.4.0.0/24'),
    network('open', { portSecurity: false }),
    subnet('so', 'open', '10.5.0.0/24'),
    network('local', { backEnd: 'host-local' }),
    subnet('sl', 'local', '10.6.0.0/24'),
    network('sim', { backEnd: 'simulated', qosPolicy: 'gold', minBandwidthKbps: 100 }),
    subnet('ss', 'sim', '10.7.0.0/24'),
    network('uplink', { external: true }),
    subnet('su', 'uplink', '10.8.0.0/24'),
    port('mine', 'n', { mac: '52:54:00:00:00:01', addresses: [{ ip: '10.0.0.9', subnet: 's', chosenBy: 'user' }] }),
  );
}

const make = (fleet: Fleet, facts: Partial<CreatePort>): Decision<unknown> =>
  createPort(fleet, { id: 'p', network: 'n', admin: false, ...WHO, ...facts });

function createOrThrow(facts: Partial<CreatePort>): Port {
  const fleet = world();
  commitAccepted(fleet, make(fleet, facts));
  return portDoc(fleet, 'p');
}

describe('how a port gets its addresses', () => {
  test('on a plain network one of each version is picked now', () => {
    expect(createOrThrow({ network: 'd' })).toMatchObject({
      createdBy: 'user',
      state: 'made',
      ipAllocation: 'immediate',
      addresses: [
        { ip: '10.2.0.2', subnet: 'd4', chosenBy: 'create' },
        { ip: '2001:db8:2::2', subnet: 'd6', chosenBy: 'create' },
      ],
      serial: 0,
      portSecurity: true,
      securityGroups: [],
    });
  });

  test('on a routed network it waits for a host', () => {
    expect(createOrThrow({ network: 'r' })).toMatchObject({ ipAllocation: 'deferred', addresses: [] });
  });

  test('scheduling-9: a requested address is held without a host', () => {
    expect(createOrThrow({ network: 'r', fixedIps: [{ ip: '10.1.1.77' }] })).toMatchObject({
      ipAllocation: 'immediate',
      addresses: [{ ip: '10.1.1.77', subnet: 'sb', chosenBy: 'user' }],
    });
  });

  test('a requested subnet gives one, and addresses of one segment go together', () => {
    const fixedIps = [{ subnet: 'sb6' }, { ip: '10.1.1.7', subnet: 'sb' }, { subnet: 'sb6' }];
    expect(createOrThrow({ network: 'r', fixedIps })).toMatchObject({
      ipAllocation: 'immediate',
      addresses: [
        { ip: '2001:db8:1::2', subnet: 'sb6', chosenBy: 'create' },
        { ip: '10.1.1.7', subnet: 'sb', chosenBy: 'user' },
        { ip: '2001:db8:1::3', subnet: 'sb6', chosenBy: 'create' },
      ],
    });
  });

  test('an empty list means never', () => {
    expect(createOrThrow({ network: 'bare', fixedIps: [] })).toMatchObject({ ipAllocation: 'none', addresses: [] });
    expect(createOrThrow({ network: 'r', fixedIps: [] })).toMatchObject({ ipAllocation: 'none', addresses: [] });
  });

  test('addresses are kept in their canonical spelling', () => {
    expect(createOrThrow({ network: 'd', fixedIps: [{ ip: '2001:DB8:2:0::00AB' }] }).addresses[0]?.ip).toBe(
      '2001:db8:2::ab',
    );
  });

  test('an address outside the pools may be requested', () => {
    const fleet = world();
    commit(fleet, [subnet('s', 'n', '10.0.0.0/24', { pools: [] })]);
    commitAccepted(fleet, make(fleet, { fixedIps: [{ ip: '10.0.0.200' }] }));
  });

  test('hosts that do their own networking allocate later, also on a plain network', () => {
    expect(createOrThrow({ network: 'local' })).toMatchObject({
      state: 'wanted',
      ipAllocation: 'deferred',
      addresses: [],
    });
  });

  test('a back end outside creates it when an instance uses it, with its network’s settings', () => {
    expect(createOrThrow({ network: 'sim' })).toMatchObject({
      state: 'wanted',
      ipAllocation: 'immediate',
      addresses: [],
      qosPolicy: 'gold',
      minBandwidthKbps: 100,
    });
    expect(createOrThrow({ network: 'sim', qosPolicy: 'own', minBandwidthKbps: 7 })).toMatchObject({
      qosPolicy: 'own',
      minBandwidthKbps: 7,
    });
  });

  test('all given fields are kept', () => {
    const said = {
      name: 'web',
      mac: '52:54:00:00:00:02',
      securityGroups: ['web', 'db'],
      pciRequest: 'sriov-1',
      dnsName: 'web1',
    };
    expect(createOrThrow(said)).toMatchObject({ ...said, changedBy: 'ann', changedAtMs: 7 });
    expect(createOrThrow({ mac: '52:54:00:00:00:01', network: 'd' }).mac).toBe('52:54:00:00:00:01');
    expect(createOrThrow({}).mac).toMatch(/^02:/);
  });

  test('administrators may put ports on any network', () => {
    expect(createOrThrow({ network: 'blue', admin: true }).network).toBe('blue');
    expect(createOrThrow({ network: 'uplink', admin: true }).network).toBe('uplink');
    expect(createOrThrow({ network: 'blue', project: 'blue' }).project).toBe('blue');
  });
});

const quota = (ports: number) =>
  put(QUOTA, 'default' as QuotaId, { project: 'default', ports, changedBy: 'test', changedAtMs: 0 });

describe('refusals for a new port', () => {
  test.each<[string, string, string | undefined, Partial<CreatePort>]>([
    ['a network that is not there', 'unknown-network', '/network', { network: 'mars' }],
    ['another project’s network', 'network-not-allowed', '/network', { network: 'blue' }],
    ['an external network', 'network-not-allowed', '/network', { network: 'uplink' }],
    ['a network without subnets', 'network-without-subnet', '/network', { network: 'bare' }],
    [
      'an address of a network without subnets',
      'network-without-subnet',
      '/network',
      { network: 'bare', fixedIps: [{ ip: '10.0.0.1' }] },
    ],
    ['an invalid address', 'address-invalid', '/fixedIps/0/ip', { fixedIps: [{ ip: '10.0.0.300' }] }],
    ['an address outside', 'address-outside-subnet', '/fixedIps/0/ip', { fixedIps: [{ ip: '10.9.0.1' }] }],
    [
      'an address of another subnet than requested',
      'address-outside-subnet',
      '/fixedIps/0/ip',
      { network: 'r', fixedIps: [{ ip: '10.1.0.7', subnet: 'sb' }] },
    ],
    ['an address in use', 'address-in-use', '/fixedIps/0/ip', { fixedIps: [{ ip: '10.0.0.9' }] }],
    ['the gateway', 'address-in-use', '/fixedIps/0/ip', { fixedIps: [{ ip: '10.0.0.1' }] }],
    ['the broadcast address', 'address-reserved', '/fixedIps/0/ip', { fixedIps: [{ ip: '10.0.0.255' }] }],
    ['the network’s own address', 'address-reserved', '/fixedIps/0/ip', { fixedIps: [{ ip: '10.0.0.0' }] }],
    [
      'the routers’ address',
      'address-reserved',
      '/fixedIps/0/ip',
      { network: 'd', fixedIps: [{ ip: '2001:db8:2::' }] },
    ],
    ['an address twice', 'address-twice', '/fixedIps/1/ip', { fixedIps: [{ ip: '10.0.0.7' }, { ip: '10.0.0.7' }] }],
    [
      'addresses in two segments',
      'addresses-in-different-segments',
      '/fixedIps',
      { network: 'r', fixedIps: [{ ip: '10.1.0.7' }, { subnet: 'sb6' }] },
    ],
    ['a subnet that is not there', 'unknown-subnet', '/fixedIps/0/subnet', { fixedIps: [{ subnet: 'mars' }] }],
    ['a subnet of another network', 'subnet-of-other-network', '/fixedIps/0/subnet', { fixedIps: [{ subnet: 'sa' }] }],
    ['neither address nor subnet', 'address-or-subnet-required', '/fixedIps/0', { fixedIps: [{}] }],
    [
      'more than a subnet has',
      'addresses-exhausted',
      '/fixedIps/1',
      { network: 'tiny', fixedIps: [{ subnet: 't' }, { subnet: 't' }] },
    ],
    [
      'groups without security',
      'security-groups-without-port-security',
      '/securityGroups',
      { network: 'open', securityGroups: ['web'] },
    ],
    [
      'groups on a port without security',
      'security-groups-without-port-security',
      '/securityGroups',
      { portSecurity: false, securityGroups: ['web'] },
    ],
    ['a MAC address in use', 'mac-in-use', '/mac', { mac: '52:54:00:00:00:01' }],
    ['one of Muster’s MAC addresses', 'mac-reserved', '/mac', { mac: '02:00:00:00:00:01' }],
    ['a MAC address of a group', 'mac-multicast', '/mac', { mac: '01:00:5e:00:00:01' }],
  ])('%s: %s', (_name, code, field, facts) => {
    const decision = make(world(), facts);
    expect(decision).toMatchObject({ kind: 'refuse', refusal: { code } });
    expect(decision.kind === 'refuse' && decision.refusal.field).toBe(field);
  });

  test('more ports than the quota', () => {
    const fleet = world();
    commit(fleet, [quota(1)]);
    expect(make(fleet, {})).toMatchObject({
      refusal: { code: 'quota-exceeded', facts: { limit: 1, used: 1, requested: 1 } },
    });
    commit(fleet, [quota(2)]);
    commitAccepted(fleet, make(fleet, {}));
  });

  test('the last address, when it is used or claimed', () => {
    const fleet = world();
    commit(fleet, [claim('i', { pool: 'network:tiny', version: 4, count: 1 })]);
    const refused = { refusal: { kind: 'conflict', code: 'addresses-exhausted' } };
    expect(make(fleet, { network: 'tiny' })).toMatchObject(refused);
    expect(make(fleet, { network: 'tiny', fixedIps: [{ ip: '10.3.0.2' }] })).toMatchObject(refused);
    expect(make(fleet, { network: 'tiny', fixedIps: [{ subnet: 't' }] })).toMatchObject(refused);
    commit(fleet, [claim('i')]);
    commitAccepted(fleet, make(fleet, { network: 'tiny' }));
    expect(make(fleet, { id: 'q', network: 'tiny' })).toMatchObject(refused);
  });
});

describe('editing ports', () => {
  const edit = (fleet: Fleet, facts: EditPort['edit'], id = 'mine'): Decision<unknown> =>
    editPort(fleet, { id, edit: facts, ...WHO });

  test('an edit changes only what it names, and null clears a field', () => {
    const fleet = world();
    const before = portDoc(fleet, 'mine');
    const said = { name: 'web', securityGroups: ['web'], qosPolicy: 'gold', dnsName: 'web1' };
    commitAccepted(fleet, edit(fleet, said));
    expect(portDoc(fleet, 'mine')).toEqual({ ...before, ...said, changedBy: 'ann', changedAtMs: 7 });
    commitAccepted(fleet, edit(fleet, { name: null, securityGroups: [], qosPolicy: null, dnsName: null }));
    expect(portDoc(fleet, 'mine')).toEqual({ ...before, changedBy: 'ann', changedAtMs: 7 });
  });

  test('an edit is refused where a new port would be', () => {
    const fleet = world();
    commit(fleet, [
      port('taken', 'n', { instance: 'i1', nic: 0 }),
      port('going', 'n', { state: 'releasing' }),
      port('open', 'open', { portSecurity: false }),
    ]);
    expect(edit(fleet, {}, 'mars')).toMatchObject({ refusal: { kind: 'not-found', code: 'unknown-port' } });
    expect(edit(fleet, { name: 'x' }, 'going')).toMatchObject({ refusal: { code: 'port-releasing' } });
    expect(edit(fleet, { securityGroups: ['web'] }, 'open')).toMatchObject({
      refusal: { code: 'security-groups-without-port-security', field: '/securityGroups' },
    });
    expect(edit(fleet, { dnsName: 'other' }, 'taken')).toMatchObject({
      refusal: { code: 'dns-name-mismatch', field: '/dnsName' },
    });
    commitAccepted(fleet, edit(fleet, { dnsName: 'i1' }, 'taken'));
  });
});
