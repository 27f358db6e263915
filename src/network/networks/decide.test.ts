import { describe, expect, test } from 'vitest';
import { idOf, type Fleet, type FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { createNetwork, deleteNetwork, editNetwork } from './decide.ts';
import { createSegment, deleteSegment, type CreateSegment } from './decide-segment.ts';
import { NETWORK, SEGMENT, type Segment } from '../model.ts';
import { commitAccepted, fleetWith, host, network, port, segment, subnet, WHO } from '../network-fixture.ts';

const ann = { ...WHO, admin: false };
const root = { ...WHO, admin: true };

function world(): Fleet {
  return fleetWith(
    host('h1', 'phys-a'),
    network('n'),
    network('other', { project: 'blue', shared: true }),
    segment('a', 'n'),
    segment('flat', 'other', { type: 'flat', physicalNetwork: 'dark' }),
    segment('tagged', 'other', { physicalNetwork: 'dark', segmentationId: 7 }),
    segment('tunnel', 'other', { type: 'vxlan', segmentationId: 5, physicalNetwork: undefined } as never),
    subnet('s', 'n', '10.0.0.0/28', { segment: 'a' }),
    port('red', 'other', { project: 'red' }),
  );
}

describe('networks', () => {
  test('a network has the usual facts unless others are given', () => {
    const fleet = fleetWith();
    commitAccepted(fleet, createNetwork(fleet, { name: 'plain', ...ann }));
    expect(fleet.get(NETWORK, idOf(NETWORK, 'plain'))?.doc).toEqual({
      name: 'plain',
      project: 'default',
      backEnd: 'embedded',
      shared: false,
      external: false,
      portSecurity: true,
      changedBy: 'ann',
      changedAtMs: 7,
    });
    const said = { project: 'blue', backEnd: 'host-local', shared: true, external: true, portSecurity: false } as const;
    commitAccepted(
      fleet,
      createNetwork(fleet, { name: 'wide', ...said, qosPolicy: 'gold', minBandwidthKbps: 5, ...ann }),
    );
    expect(fleet.get(NETWORK, idOf(NETWORK, 'wide'))?.doc).toMatchObject({ ...said, qosPolicy: 'gold' });
  });

  test('an edit changes only what it names, and null clears a field', () => {
    const fleet = world();
    const edit = (facts: Parameters<typeof editNetwork>[1]['edit']) =>
      commitAccepted(fleet, editNetwork(fleet, { id: 'n', edit: facts, ...ann }));
    expect(edit({ qosPolicy: 'gold', minBandwidthKbps: 9, shared: true })).toMatchObject({
      qosPolicy: 'gold',
      minBandwidthKbps: 9,
      shared: true,
      portSecurity: true,
    });
    const after = edit({ qosPolicy: null, minBandwidthKbps: null });
    expect(after.qosPolicy).toBeUndefined();
    expect(after.minBandwidthKbps).toBeUndefined();
    expect(after.shared).toBe(true);
  });

  test('only administrators create unshared external networks; anybody may edit their other fields', () => {
    const fleet = fleetWith();
    commitAccepted(fleet, createNetwork(fleet, { name: 'uplink', external: true, ...root }));
    commitAccepted(fleet, editNetwork(fleet, { id: 'uplink', edit: { portSecurity: false }, ...ann }));
    commitAccepted(fleet, editNetwork(fleet, { id: 'uplink', edit: { shared: true }, ...ann }));
  });

  test('a network without dependents is deleted', () => {
    const fleet = fleetWith(network('n'));
    commitAccepted(fleet, deleteNetwork(fleet, { id: 'n' }));
    expect(fleet.count(NETWORK)).toBe(0);
  });

  test.each<[string, string, string | undefined, (fleet: Fleet) => Decision<unknown>]>([
    [
      'a second one of the same name',
      'network-exists',
      '/name',
      (fleet) => createNetwork(fleet, { name: 'n', ...ann }),
    ],
    [
      'an unshared external network, by a non-administrator',
      'external-needs-admin',
      '/external',
      (fleet) => createNetwork(fleet, { name: 'uplink', external: true, ...ann }),
    ],
    [
      'turning a network into one',
      'external-needs-admin',
      '/external',
      (fleet) => editNetwork(fleet, { id: 'n', edit: { external: true }, ...ann }),
    ],
    [
      'no longer sharing one that others are on',
      'network-shared',
      '/shared',
      (fleet) => editNetwork(fleet, { id: 'other', edit: { shared: false }, ...root }),
    ],
    ['editing none', 'unknown-network', undefined, (fleet) => editNetwork(fleet, { id: 'x', edit: {}, ...ann })],
    ['deleting none', 'unknown-network', undefined, (fleet) => deleteNetwork(fleet, { id: 'x' })],
    ['deleting one with subnets', 'network-in-use', undefined, (fleet) => deleteNetwork(fleet, { id: 'n' })],
    ['deleting one with ports', 'network-in-use', undefined, (fleet) => deleteNetwork(fleet, { id: 'other' })],
  ])('%s is refused: %s', (_name, code, field, decide) => {
    const decision = decide(world());
    expect(decision).toMatchObject({ kind: 'refuse', refusal: { code } });
    expect(decision.kind === 'refuse' && decision.refusal.field).toBe(field);
  });

  test('deleting one with a segment alone is refused', () => {
    const fleet = fleetWith(network('n'), segment('a', 'n'));
    expect(deleteNetwork(fleet, { id: 'n' })).toMatchObject({
      refusal: {
        code: 'network-in-use',
        message: 'Network "n" still has a segment. Delete that first.',
        facts: { what: 'segments', count: 1 },
      },
    });
    expect(deleteNetwork(fleetWith(network('n'), segment('a', 'n'), segment('b', 'n')), { id: 'n' })).toMatchObject({
      refusal: { message: 'Network "n" still has 2 segments. Delete those first.' },
    });
  });
});

describe('segments', () => {
  const make = (fleet: Fleet, facts: Partial<CreateSegment>) =>
    createSegment(fleet, { name: 'x', network: 'n', type: 'vlan', physicalNetwork: 'phys', ...WHO, ...facts });
  const without = (...names: (keyof Segment)[]): Partial<CreateSegment> =>
    Object.fromEntries(names.map((name) => [name, undefined]));

  test('a segment is created with what was said, and deleted when nothing is on it', () => {
    const fleet = world();
    commitAccepted(fleet, make(fleet, { segmentationId: 100 }));
    expect(fleet.get(SEGMENT, idOf(SEGMENT, 'x'))?.doc).toMatchObject({
      network: 'n',
      type: 'vlan',
      physicalNetwork: 'phys',
      segmentationId: 100,
      dynamic: false,
    });
    commitAccepted(fleet, deleteSegment(fleet, { id: 'x' }));
    expect(fleet.get(SEGMENT, idOf(SEGMENT, 'x'))).toBeUndefined();
  });

  test('the same number elsewhere is another layer-2 network', () => {
    const fleet = world();
    commitAccepted(fleet, make(fleet, { segmentationId: 7 }));
    commitAccepted(fleet, make(fleet, { name: 'y', type: 'geneve', segmentationId: 5, ...without('physicalNetwork') }));
    commitAccepted(fleet, make(fleet, { name: 'z' }));
    commitAccepted(fleet, make(fleet, { name: 'zz' }));
  });

  test.each<[string, string, string | undefined, Partial<CreateSegment>]>([
    ['a name that is taken', 'segment-exists', '/name', { name: 'a' }],
    ['a network that is not there', 'unknown-network', '/network', { network: 'mars' }],
    ['a VLAN on no physical network', 'physical-network-required', '/physicalNetwork', without('physicalNetwork')],
    [
      'a flat one on no physical network',
      'physical-network-required',
      '/physicalNetwork',
      { type: 'flat', ...without('physicalNetwork') },
    ],
    ['a tunnel on a physical network', 'physical-network-not-allowed', '/physicalNetwork', { type: 'vxlan' }],
    ['a flat one with a number', 'segmentation-id-not-allowed', '/segmentationId', { type: 'flat', segmentationId: 1 }],
    ['VLAN 0', 'segmentation-id-out-of-range', '/segmentationId', { segmentationId: 0 }],
    ['VLAN 4095', 'segmentation-id-out-of-range', '/segmentationId', { segmentationId: 4095 }],
    [
      'a second flat one on a physical network',
      'segmentation-taken',
      '/physicalNetwork',
      { type: 'flat', physicalNetwork: 'dark' },
    ],
    ['a VLAN that is there', 'segmentation-taken', '/segmentationId', { physicalNetwork: 'dark', segmentationId: 7 }],
    [
      'a tunnel that is there',
      'segmentation-taken',
      '/segmentationId',
      { type: 'vxlan', segmentationId: 5, ...without('physicalNetwork') },
    ],
  ])('%s is refused: %s', (_name, code, field, facts) => {
    expect(make(world(), facts)).toMatchObject({ kind: 'refuse', refusal: { code, field } });
  });

  test('deleting none is refused', () => {
    expect(deleteSegment(world(), { id: 'x' })).toMatchObject({
      refusal: { kind: 'not-found', code: 'unknown-segment' },
    });
  });

  test('one with subnets stays (R1)', () => {
    expect(deleteSegment(world(), { id: 'a' })).toMatchObject({
      refusal: { kind: 'conflict', code: 'segment-has-subnets', facts: { subnets: ['s'] } },
    });
  });

  test('one that a port is bound on stays', () => {
    const binding = { host: 'h1', serial: 1, segment: 'b', type: 'ovs' };
    const bound = port('p', 'n', { ipAllocation: 'none', instance: 'i', nic: 0, binding, serial: 1 });
    const fleet = fleetWith(network('n'), segment('b', 'n'), bound);
    expect(deleteSegment(fleet, { id: 'b' })).toMatchObject({
      refusal: { code: 'segment-in-use', facts: { port: 'p' } },
    });
  });
});

describe('on a network with many ports', () => {
  const MANY = 50;
  const binding = { host: 'h1', serial: 1, segment: 'a', type: 'ovs' };
  const bound = { ipAllocation: 'none', instance: 'i', serial: 1, binding } as const;
  const fleet = fleetWith(
    network('n', { shared: true }),
    segment('a', 'n'),
    segment('b', 'n', { segmentationId: 9 }),
    ...Array.from({ length: MANY }, (_, nic) => port(`p${nic}`, 'n', { ...bound, nic })),
  );

  test('deleting a segment reads only those that are bound on it', () => {
    expect(countLooks(fleet, (reader) => deleteSegment(reader, { id: 'b' }))).toEqual({ kind: 'accept', looked: 0 });
    expect(countLooks(fleet, (reader) => deleteSegment(reader, { id: 'a' }))).toEqual({ kind: 'refuse', looked: 1 });
  });

  test('ending its sharing reads none', () => {
    const edit = (reader: FleetReader) => editNetwork(reader, { id: 'n', edit: { shared: false }, ...root });
    expect(countLooks(fleet, edit)).toEqual({ kind: 'accept', looked: 0 });
  });
});

/** The decision, and how many documents it read in indexes. */
function countLooks(fleet: Fleet, decide: (reader: FleetReader) => Decision<unknown>) {
  let looked = 0;
  const reader = new Proxy(fleet, {
    get: (target, key) => {
      const it: unknown = Reflect.get(target, key, target);
      if (typeof it !== 'function') return it;
      if (key !== 'find') return it.bind(target) as unknown;
      return function* (...args: Parameters<Fleet['find']>) {
        for (const found of target.find(...args)) {
          looked += 1;
          yield found;
        }
      };
    },
  });
  return { kind: decide(reader).kind, looked };
}
