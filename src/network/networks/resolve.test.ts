import { describe, expect, test } from 'vitest';
import { runTrial, type Fleet, type Refusal } from '../../fleet/index.ts';
import { attachNicPort } from '../ports/attach.ts';
import { commitAccepted, claim, commit, fleetWith, network, port, segment, subnet, WHO } from '../network-fixture.ts';
import { isRefusal } from '../refusal.ts';
import { resolveNetworks, type NicsRequest, type ResolvedNetworks } from './resolve.ts';
import { accept } from '../../journal/index.ts';

function world(): Fleet {
  return fleetWith(
    network('n'),
    subnet('s', 'n', '10.0.0.0/24'),
    network('r'),
    segment('a', 'r'),
    subnet('sa', 'r', '10.1.0.0/24', { segment: 'a' }),
    network('bare'),
    network('open', { portSecurity: false }),
    subnet('so', 'open', '10.5.0.0/24'),
    network('uplink', { external: true }),
    subnet('su', 'uplink', '10.8.0.0/24'),
    network('lobby', { project: 'blue', external: true, shared: true }),
    subnet('slobby', 'lobby', '10.9.0.0/24'),
    network('blue', { project: 'blue' }),
    subnet('sblue', 'blue', '10.4.0.0/24'),
    network('tiny'),
    subnet('t', 'tiny', '10.3.0.0/30'),
    network('sim', { backEnd: 'simulated' }),
    subnet('ss', 'sim', '10.7.0.0/24'),
    port('free', 'r'),
    port('held', 'n', { ipAllocation: 'immediate', addresses: [{ ip: '10.0.0.9', subnet: 's', chosenBy: 'user' }] }),
    port('busy', 'r', { instance: 'other', nic: 0 }),
    port('ours', 'r', { instance: 'web', nic: 0 }),
    port('theirs', 'r', { project: 'blue' }),
    port('going', 'r', { state: 'releasing' }),
    port('lacking', 'n', { ipAllocation: 'immediate' }),
    port('intended', 'sim', { ipAllocation: 'immediate', state: 'wanted' }),
    port('never', 'r', { ipAllocation: 'none' }),
    port('named', 'r', { dnsName: 'web' }),
    port('misnamed', 'r', { dnsName: 'mail' }),
  );
}

const ask = (networks: NicsRequest['networks'], facts: Partial<NicsRequest> = {}): NicsRequest => ({
  networks,
  project: 'default',
  admin: false,
  count: 1,
  instance: 'web',
  ...WHO,
  ...facts,
});

function resolveOrThrow(fleet: Fleet, request: NicsRequest): ResolvedNetworks {
  const found = resolveNetworks(fleet, request);
  if (isRefusal(found)) throw new Error(`${found.code}: ${found.message}`);
  return found;
}

describe('requested networks', () => {
  test('more-nics-than-an-instance-may-have: the sentence has the limit', () => {
    const many = Array.from({ length: 40 }, () => ({ network: 'n' }));
    expect(resolveNetworks(world(), ask(many))).toEqual({
      kind: 'invalid',
      code: 'too-many-nics',
      message: 'The request has 40 NICs, and an instance has 32 at most. Request fewer.',
      field: '/networks',
      facts: { requested: 40, most: 32 },
    });
    expect(resolveOrThrow(world(), ask(many.slice(0, 32))).nics).toHaveLength(32);
  });

  test('`none` gives no NICs', () => {
    expect(resolveOrThrow(world(), ask('none'))).toEqual({ nics: [], changes: [] });
    expect(resolveOrThrow(world(), ask([]))).toEqual({ nics: [], changes: [] });
  });

  test('NICs keep their order and their tags, and a network may stand there twice', () => {
    const networks = [
      { network: 'n', tag: 'front' },
      { port: 'free', tag: 'back' },
      { network: 'n', fixedIp: '10.0.0.77' },
      { network: 'r' },
      { network: 'lobby' },
    ];
    expect(resolveOrThrow(world(), ask(networks)).nics).toMatchObject([
      { kind: 'new', network: 'n', fixedIps: [], tag: 'front' },
      { kind: 'port', port: { id: 'free' }, tag: 'back' },
      { kind: 'new', network: 'n', fixedIps: [{ ip: '10.0.0.77', subnet: 's' }] },
      { kind: 'new', network: 'r', fixedIps: [] },
      { kind: 'new', network: 'lobby' },
    ]);
  });

  test.each([['held'], ['ours'], ['intended'], ['never'], ['named']])('port %s is used as it is', (id) => {
    expect(resolveOrThrow(world(), ask([{ port: id }])).nics).toMatchObject([{ kind: 'port', port: { id } }]);
  });

  test('R4: a port that this instance has already is fine, by name or by id', () => {
    const fleet = world();
    expect(isRefusal(resolveNetworks(fleet, ask([{ port: 'busy' }], { instanceId: 'other' })))).toBe(false);
    expect(resolveNetworks(fleet, ask([{ port: 'ours' }], { instanceId: 'i-9' }))).toMatchObject({
      code: 'port-in-use',
    });
  });

  test('administrators may use every network', () => {
    const nics = resolveOrThrow(world(), ask([{ network: 'uplink' }, { network: 'blue' }], { admin: true })).nics;
    expect(nics).toHaveLength(2);
  });

  test('security groups apply to new ports only', () => {
    const request = ask([{ network: 'n' }, { port: 'free' }], { securityGroups: ['web'] });
    expect(resolveOrThrow(world(), request).nics).toHaveLength(2);
    expect(resolveOrThrow(world(), ask([{ network: 'open' }], { securityGroups: [] })).nics).toHaveLength(1);
  });

  test('several may be asked for by network', () => {
    expect(resolveOrThrow(world(), ask([{ network: 'n' }], { count: 3 })).nics).toHaveLength(1);
  });
});

describe('what is refused', () => {
  type NicsCase = [NicsRequest['networks'], Partial<NicsRequest>?];
  test.each<[string, string, string, NicsCase]>([
    [
      'both port and fixed address',
      'port-and-fixed-ip',
      '/networks/0/fixedIp',
      [[{ port: 'free', fixedIp: '10.1.0.9' }]],
    ],
    ['both port and network', 'network-and-port', '/networks/0', [[{ port: 'free', network: 'n' }]]],
    ['neither', 'network-or-port-required', '/networks/1', [[{ network: 'n' }, { tag: 'x' }]]],
    ['the same port twice', 'port-twice', '/networks/1/port', [[{ port: 'free' }, { port: 'free' }]]],
    [
      'the same tag twice',
      'tag-twice',
      '/networks/1/tag',
      [
        [
          { network: 'n', tag: 'x' },
          { network: 'r', tag: 'x' },
        ],
      ],
    ],
    ['several with a port', 'count-with-port', '/networks/0/port', [[{ port: 'free' }], { count: 2 }]],
    [
      'several with an address',
      'count-with-fixed-ip',
      '/networks/0/fixedIp',
      [[{ network: 'n', fixedIp: '10.0.0.7' }], { count: 2 }],
    ],
    ['an unknown network', 'unknown-network', '/networks/0/network', [[{ network: 'mars' }]]],
    ['an unknown port', 'unknown-port', '/networks/0/port', [[{ port: 'mars' }]]],
    ['an external network', 'network-not-allowed', '/networks/0/network', [[{ network: 'uplink' }]]],
    ['a network of another project', 'network-not-allowed', '/networks/0/network', [[{ network: 'blue' }]]],
    ['a network without subnets', 'network-without-subnet', '/networks/0/network', [[{ network: 'bare' }]]],
    [
      'groups without port security',
      'security-groups-without-port-security',
      '/networks/0/network',
      [[{ network: 'open' }], { securityGroups: ['web'] }],
    ],
    ['an address outside', 'address-outside-subnet', '/networks/0/fixedIp', [[{ network: 'n', fixedIp: '10.9.9.9' }]]],
    ['an address in use', 'address-in-use', '/networks/0/fixedIp', [[{ network: 'n', fixedIp: '10.0.0.9' }]]],
    ['the gateway’s address', 'address-in-use', '/networks/0/fixedIp', [[{ network: 'n', fixedIp: '10.0.0.1' }]]],
    ['the broadcast address', 'address-reserved', '/networks/0/fixedIp', [[{ network: 'n', fixedIp: '10.0.0.255' }]]],
    [
      'an address twice',
      'address-twice',
      '/networks/1/fixedIp',
      [
        [
          { network: 'n', fixedIp: '10.0.0.7' },
          { network: 'n', fixedIp: '10.0.0.7' },
        ],
      ],
    ],
    ['a port of another project', 'port-of-other-project', '/networks/0/port', [[{ port: 'theirs' }]]],
    ['a port in use', 'port-in-use', '/networks/0/port', [[{ port: 'busy' }]]],
    ['a port that is being deleted', 'port-releasing', '/networks/0/port', [[{ port: 'going' }]]],
    ['a port without the address it should have', 'port-without-address', '/networks/0/port', [[{ port: 'lacking' }]]],
    ['a port with another name', 'dns-name-mismatch', '/networks/0/port', [[{ port: 'misnamed' }]]],
  ])('%s: %s', (_name, code, field, [networks, facts]) => {
    expect(resolveNetworks(world(), ask(networks, facts))).toMatchObject({ code, field });
  });

  test('kinds of refusal follow the reference', () => {
    const kindOf = (networks: NicsRequest['networks']) => {
      const found = resolveNetworks(world(), ask(networks));
      return isRefusal(found) ? found.kind : 'resolved';
    };
    expect(kindOf([{ port: 'free', fixedIp: '10.1.0.9' }])).toBe('invalid');
    expect(kindOf('auto')).toBe('conflict');
    expect(kindOf([{ port: 'busy' }])).toBe('conflict');
    expect(kindOf([{ network: 'n', fixedIp: '10.0.0.9' }])).toBe('conflict');
    expect(kindOf([{ port: 'theirs' }])).toBe('forbidden');
    expect(kindOf([{ network: 'uplink' }])).toBe('forbidden');
    expect(kindOf([{ network: 'bare' }])).toBe('invalid');
  });

  test('an address that is claimed by others', () => {
    const fleet = world();
    commit(fleet, [claim('i', { pool: 'network:tiny', version: 4, count: 1 })]);
    expect(resolveNetworks(fleet, ask([{ network: 'tiny', fixedIp: '10.3.0.2' }]))).toMatchObject({
      code: 'addresses-exhausted',
      facts: { network: 'tiny', pool: 'network:tiny' },
    });
  });
});

describe('auto', () => {
  test('the one network that the project may use', () => {
    const fleet = fleetWith(network('n'), subnet('s', 'n', '10.0.0.0/24'), network('blue', { project: 'blue' }));
    expect(resolveOrThrow(fleet, ask('auto'))).toEqual({
      nics: [{ kind: 'new', network: 'n', fixedIps: [] }],
      changes: [],
    });
    const refusal = resolveNetworks(fleet, ask('auto', { securityGroups: ['web'] }));
    expect(isRefusal(refusal)).toBe(false);
  });

  test('a shared one counts, one that is external or has no subnet does not', () => {
    const fleet = fleetWith(
      network('bare'),
      network('uplink', { external: true }),
      subnet('su', 'uplink', '10.0.0.0/24'),
      network('hall', { project: 'blue', shared: true, portSecurity: false }),
      subnet('sh', 'hall', '10.0.0.0/24'),
    );
    expect(resolveOrThrow(fleet, ask('auto')).nics).toMatchObject([{ network: 'hall' }]);
    expect(resolveNetworks(fleet, ask('auto', { securityGroups: ['web'] }))).toMatchObject({
      code: 'security-groups-without-port-security',
      field: '/networks',
    });
  });

  test('more than one is ambiguous, and the refusal names them', () => {
    expect(resolveNetworks(world(), ask('auto'))).toMatchObject({
      kind: 'conflict',
      code: 'auto-ambiguous',
      field: '/networks',
      facts: { networks: ['n', 'open', 'r', 'sim', 'tiny'] },
    });
  });

  test('of many some are named, and the refusal says that there are more', () => {
    const many = Array.from({ length: 12 }, (_, nth) => `n${nth}`);
    const fleet = fleetWith(...many.flatMap((id) => [network(id), subnet(`s-${id}`, id, '10.0.0.0/24')]));
    const refusal = resolveNetworks(fleet, ask('auto')) as Refusal;
    expect(refusal.message).toContain('there are 10 or more: n0, n1,');
    expect(refusal.facts?.['networks']).toHaveLength(10);
  });

  test('without a network the default topology is built, in the same commit', () => {
    const fleet = fleetWith(network('blue', { project: 'blue' }));
    const { nics, changes } = resolveOrThrow(fleet, ask('auto'));
    expect(changes.map(({ kind, id }) => `${kind}/${id}`)).toEqual([
      'network/default-default',
      'tunnel-key/11051314',
      'subnet/default-default',
    ]);
    expect(nics).toEqual([{ kind: 'new', network: 'default-default', fixedIps: [] }]);
    const made = runTrial(fleet, (trial) => {
      trial.add(changes);
      return attachNicPort(trial, nics[0]!, { instance: 'web', nic: 0, project: 'default', portId: 'p', ...WHO });
    });
    expect(made).toMatchObject({
      doc: { addresses: [{ ip: '10.0.0.2', subnet: 'default-default', chosenBy: 'create' }] },
    });
    commitAccepted(fleet, accept(changes, undefined));
    expect(resolveOrThrow(fleet, ask('auto'))).toEqual({ nics, changes: [] });
  });

  test('the default name may be taken, and a long project still gets one', () => {
    const fleet = fleetWith(network('default-red', { project: 'blue' }));
    expect(resolveNetworks(fleet, ask('auto', { project: 'red' }))).toMatchObject({ code: 'default-name-taken' });
    const half = fleetWith(network('n', { project: 'blue' }), subnet('default-red', 'n', '10.0.0.0/24'));
    expect(resolveNetworks(half, ask('auto', { project: 'red' }))).toMatchObject({ code: 'default-name-taken' });
    const project = `${'a'.repeat(54)}-${'b'.repeat(8)}`;
    const { changes } = resolveOrThrow(fleet, ask('auto', { project }));
    commitAccepted(fleet, accept(changes, undefined));
    expect(changes[0]?.id).toBe(`default-${'a'.repeat(54)}`);
  });
});
