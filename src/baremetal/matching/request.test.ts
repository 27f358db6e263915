import { describe, expect, test } from 'vitest';
import { compileChecker } from '../../fleet/index.ts';
import { canonicalRequest, parseReservationBody, RESERVATION_BODY, type ReservationBody } from './request.ts';

const WHO = { instance_uuid: 'i-1', manager: 'M1' };
const parse = (fields: Omit<ReservationBody, 'instance_uuid' | 'manager'>) =>
  parseReservationBody({ ...WHO, ...fields });

/** As the specification prints it. */
const PRINTED = {
  memory_mb: 1024,
  vcpus: 8,
  vcpu_weight: null,
  root_gb: 20,
  ephemeral_gb: 10,
  swap: 2,
  rxtx_factor: 1.0,
  extra_specs: { capabilities: 'supports_uefi,has_gpu' },
  image: { id: 'some-uuid', properties: {} },
};

test('the-body-of-the-specification', () => {
  expect(parse(PRINTED)).toEqual({
    instance: 'i-1',
    manager: 'm1',
    requirements: {
      memoryMiB: 1024,
      cpus: 8,
      localGiB: 31,
      requiredTraits: [],
      forbiddenTraits: [],
      capabilities: [
        { key: 'supports_uefi', test: { kind: 'true', standIn: 'CUSTOM_SUPPORTS_UEFI' } },
        { key: 'has_gpu', test: { kind: 'true', standIn: 'CUSTOM_HAS_GPU' } },
      ],
      physicalNetworks: [],
    },
    ignored: ['rxtx_factor'],
  });
});

test('null-is-absent-in-every-field', () => {
  const names = Object.keys(RESERVATION_BODY.properties).filter((name) => !Object.hasOwn(WHO, name));
  const nulls = { ...WHO, ...Object.fromEntries(names.map((name) => [name, null])) } as ReservationBody;
  expect(compileChecker(RESERVATION_BODY)(nulls)).toEqual([]);
  expect(parseReservationBody(nulls)).toEqual(parseReservationBody(WHO));
  expect(parse({ image: { id: null, properties: null }, extra_specs: { 'trait:X': null, 'hw:numa': null } })).toEqual(
    parse({}),
  );
});

test('all-that-can-be-requested', () => {
  const extra_specs = {
    'resources:CUSTOM_GOLD': '1',
    'resources:VCPU': '0',
    'trait:HW_GPU': 'required',
    'trait:OLD': 'forbidden',
    capabilities: 'boot_mode:uefi',
    'capabilities:disks': '= 8',
    'hw:cpu_policy': 'dedicated',
  };
  const image = {
    properties: { architecture: 'X86_64', 'trait:SECURE': 'required', os: 'linux', min: 3, kernel: 'k' },
  };
  expect(
    parse({ extra_specs, image, candidate_nodes: ['n1'], project: 'acme', physical_networks: ['b', 'a', 'b'] }),
  ).toEqual({
    instance: 'i-1',
    manager: 'm1',
    project: 'acme',
    candidates: ['n1'],
    requirements: {
      resourceClass: 'CUSTOM_GOLD',
      memoryMiB: 0,
      cpus: 0,
      localGiB: 0,
      requiredTraits: ['HW_GPU', 'SECURE'],
      forbiddenTraits: ['OLD'],
      capabilities: [
        { key: 'boot_mode', test: { kind: 'equal', value: 'uefi' } },
        { key: 'disks', test: { kind: 'number', operator: '=', value: 8 } },
      ],
      architecture: 'x86_64',
      physicalNetworks: ['a', 'b'],
    },
    ignored: ['hw:cpu_policy', 'min', 'os', 'resources:VCPU'],
  });
});

describe('malformed, by field', () => {
  test.each<readonly [name: string, field: string, body: Parameters<typeof parse>[0]]>([
    ['unknown-operator', '/extra_specs/capabilities:disks', { extra_specs: { 'capabilities:disks': '> 2' } }],
    ['no-capability-named', '/extra_specs/capabilities:', { extra_specs: { 'capabilities:': '1' } }],
    ['empty-item', '/extra_specs/capabilities', { extra_specs: { capabilities: 'a,,b' } }],
    ['item-without-value', '/extra_specs/capabilities', { extra_specs: { capabilities: 'a:' } }],
    ['item-without-key', '/extra_specs/capabilities', { extra_specs: { capabilities: ':a' } }],
    ['two-of-a-class', '/extra_specs/resources:CUSTOM_A', { extra_specs: { 'resources:CUSTOM_A': '2' } }],
    ['class-in-lower-case', '/extra_specs/resources:custom_a', { extra_specs: { 'resources:custom_a': '1' } }],
    ['no-class-named', '/extra_specs/resources:', { extra_specs: { 'resources:': '1' } }],
    [
      'two-classes',
      '/extra_specs/resources:CUSTOM_B',
      { extra_specs: { 'resources:CUSTOM_A': '1', 'resources:CUSTOM_B': '1' } },
    ],
    ['trait-wanted', '/extra_specs/trait:X', { extra_specs: { 'trait:X': 'wanted' } }],
    ['no-trait-named', '/extra_specs/trait:', { extra_specs: { 'trait:': 'required' } }],
    ['key-with-a-slash', '/extra_specs/trait:a~1b', { extra_specs: { 'trait:a/b': 'required' } }],
    ['image-forbids', '/image/properties/trait:X', { image: { properties: { 'trait:X': 'forbidden' } } }],
    ['image-trait-of-no-name', '/image/properties/trait:', { image: { properties: { 'trait:': 'required' } } }],
    ['architecture-is-a-number', '/image/properties/architecture', { image: { properties: { architecture: 3 } } }],
    [
      'required-and-forbidden',
      '/extra_specs/trait:X',
      { extra_specs: { 'trait:X': 'forbidden' }, image: { properties: { 'trait:X': 'required' } } },
    ],
  ])('%s', (_, field, body) => {
    expect(parse(body)).toMatchObject([{ field }]);
  });

  test.each<readonly [name: string, field: string, body: object]>([
    ['unknown-key', '/memory', { memory: 3 }],
    ['negative', '/memory_mb', { memory_mb: -1 }],
    ['text', '/vcpus', { vcpus: '8' }],
    ['fraction', '/root_gb', { root_gb: 0.5 }],
    ['number-as-spec', '/extra_specs/trait:X', { extra_specs: { 'trait:X': 1 } }],
    ['no-candidates', '/candidate_nodes', { candidate_nodes: [] }],
    ['unknown-image-key', '/image/name', { image: { name: 'x' } }],
    ['blank-network', '/physical_networks/0', { physical_networks: [' '] }],
  ])('by the schema: %s', (_, field, body) => {
    expect(compileChecker(RESERVATION_BODY)({ ...WHO, ...body })[0]).toMatchObject({ field });
  });
});

describe('a repeat', () => {
  const one: ReservationBody = { ...WHO, memory_mb: 1, extra_specs: { 'trait:A': 'required', 'trait:B': 'required' } };

  test('is-known-whatever-the-order-of-keys-the-manager-and-nulls', () => {
    const other: ReservationBody = {
      extra_specs: { 'trait:B': 'required', 'trait:A': 'required', 'trait:C': null },
      vcpus: null,
      memory_mb: 1,
      manager: 'm2',
      instance_uuid: 'i-1',
    };
    expect(canonicalRequest(other)).toBe(canonicalRequest(one));
  });

  test('another-request-is-another', () => {
    expect(canonicalRequest({ ...one, memory_mb: 2 })).not.toBe(canonicalRequest(one));
    expect(canonicalRequest({ ...one, vcpus: 0 })).not.toBe(canonicalRequest(one));
    expect(canonicalRequest({ ...one, candidate_nodes: ['a', 'b'] })).not.toBe(
      canonicalRequest({ ...one, candidate_nodes: ['b', 'a'] }),
    );
  });
});
