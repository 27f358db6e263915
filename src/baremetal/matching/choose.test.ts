// The choice of a node: the index agrees with a matcher that looks at every node, on the fleet, on stages and trials that are taken back, and on
// forks; what is chosen, by table.
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { idOf, LongTrial, remove, runTrial, type Change, type FleetReader } from '../../fleet/index.ts';
import { NODE, NODE_STATES, type Node, type NodeId } from '../model.ts';
import { chooseNode, countStages, type NodeRequest } from './choose.ts';
import { naiveChoice, naiveCounts } from './naive-fixture.ts';
import { ringPosition } from './node-ring.ts';
import { newFleet, node, requirements } from './nodes-fixture.ts';
import type { Requirements } from './requirements.ts';

const IDS = Array.from({ length: 24 }, (_, nth) => `n${nth}`);
const TRAITS = ['HW_GPU', 'CUSTOM_HAS_GPU', 'CUSTOM_FAST'];
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const rarely = <T>(value: T): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, fc.constant(value));
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
const defined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;

const anyNode: fc.Arbitrary<Partial<Node>> = fc
  .record({
    resourceClass: optional(fc.constantFrom('gold', 'baremetal.with-GPU')),
    traits: fc.subarray(TRAITS),
    memoryMiB: fc.constantFrom(1024, 2048),
    cpus: fc.constantFrom(4, 8),
    localGiB: fc.constantFrom(10, 20),
    cpuArch: optional(fc.constantFrom('x86_64', 'aarch64')),
    capabilities: optional(
      fc.constantFrom('has_gpu:1', 'has_gpu:false,boot:uefi', 'boot:bios,bad', 'disks:16,disks:2'),
    ),
    site: optional(fc.constantFrom('north', 'south')),
    physicalNetworks: fc.subarray(['p1', 'p2']),
    owner: optional(fc.constantFrom('acme', 'other')),
    lessee: optional(fc.constantFrom('acme')),
    // Mostly free: what is not is never chosen.
    state: fc.oneof({ weight: 8, arbitrary: fc.constant('available' as const) }, fc.constantFrom(...NODE_STATES)),
    power: fc.oneof({ weight: 8, arbitrary: fc.constant('off' as const) }, fc.constant('unknown' as const)),
    maintenance: rarely({ reason: 'x', by: 'x', atMs: 1 }),
    instance: rarely('i'),
    claimedFor: rarely('i'),
  })
  .map(defined);

const anyChange: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...IDS), anyNode).map(([id, fields]) => node(id, fields)) },
  { weight: 1, arbitrary: fc.constantFrom(...IDS).map((id) => remove(NODE, idOf(NODE, id))) },
);

const anyRequirements: fc.Arbitrary<Requirements> = fc
  .record({
    resourceClass: optional(fc.constantFrom('CUSTOM_GOLD', 'CUSTOM_BAREMETAL_WITH_GPU')),
    memoryMiB: fc.constantFrom(0, 1024, 2048),
    cpus: fc.constantFrom(0, 8),
    localGiB: fc.constantFrom(0, 15),
    requiredTraits: fc.subarray(TRAITS, { maxLength: 1 }),
    forbiddenTraits: fc.subarray(TRAITS, { maxLength: 1 }),
    capabilities: fc.subarray(
      [
        { key: 'has_gpu', test: { kind: 'true', standIn: 'CUSTOM_HAS_GPU' } },
        { key: 'boot', test: { kind: 'equal', value: 'uefi' } },
        { key: 'disks', test: { kind: 'number', operator: '=', value: 8 } },
      ] as const,
      { maxLength: 1 },
    ),
    architecture: optional(fc.constantFrom('x86_64')),
    physicalNetworks: fc.subarray(['p1', 'p2'], { maxLength: 1 }),
    physicalNetworkChoices: optional(fc.array(fc.subarray(['p1', 'p2', 'p3']), { maxLength: 2 })),
    project: optional(fc.constantFrom('acme', 'nobody')),
    site: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, fc.constantFrom('north')),
  })
  .map((fields) => requirements(defined(fields)));

const someIds = fc.subarray(IDS) as fc.Arbitrary<NodeId[]>;
const anyRequest: fc.Arbitrary<NodeRequest> = fc.record({
  requirements: anyRequirements,
  instance: fc.string({ minLength: 1, maxLength: 4 }),
  candidates: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, someIds),
  except: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    fc.subarray(IDS).map((ids) => new Set(ids)),
  ),
});
const anyRequests = fc.array(anyRequest, { minLength: 1, maxLength: 8 });
const anyCommits = fc.array(fc.uniqueArray(anyChange, { selector: ({ id }) => id, minLength: 1, maxLength: 12 }), {
  maxLength: 6,
});

function expectAgreement(fleet: FleetReader, requests: readonly NodeRequest[]): void {
  for (const request of requests) {
    expect(chooseNode(fleet, request)).toBe(naiveChoice(fleet, request));
    const { except: _, ...counted } = request;
    expect(countStages(fleet, counted)).toEqual(naiveCounts(fleet, counted));
  }
}

/** Hundreds of fleets, several requests after each commit. */
describe('a choice', { timeout: 60_000 }, () => {
  it('never: the index chooses or counts otherwise than a matcher that looks at every node', () => {
    fc.assert(
      fc.property(anyCommits, anyRequests, (commits, requests) => {
        const fleet = newFleet();
        for (const commit of commits) {
          fleet.apply(fleet.revision + 1, commit);
          expectAgreement(fleet, requests);
        }
      }),
      { numRuns: 700 },
    );
  });

  it('never: a trial that was taken back, or a fork, leaves a trace', () => {
    fc.assert(
      fc.property(anyCommits, anyCommits, anyRequests, (commits, tried, requests) => {
        const fleet = newFleet();
        for (const commit of commits) fleet.apply(fleet.revision + 1, commit);
        runTrial(fleet, (trial) => {
          for (const commit of tried) trial.add(commit);
          expectAgreement(trial, requests);
        });
        expectAgreement(fleet, requests);
        const fork = new LongTrial(fleet, [NODE.name]);
        for (const commit of tried) {
          fork.add(commit);
          expectAgreement(fork, requests);
        }
        expectAgreement(fleet, requests);
      }),
      { numRuns: 250 },
    );
  });
});

interface Row {
  readonly name: string;
  readonly nodes: readonly Change[];
  readonly wanted?: Partial<Requirements>;
  readonly chosen: string;
}

const ROWS: readonly Row[] = [
  {
    name: 'smallest-fitting-node-without-a-class',
    nodes: [node('big', { memoryMiB: 8192 }), node('small', { memoryMiB: 2048 }), node('tiny', { memoryMiB: 512 })],
    wanted: { memoryMiB: 1024 },
    chosen: 'small',
  },
  {
    name: 'a-trait-nobody-asked-for-weighs-more-than-memory',
    nodes: [node('plain', { memoryMiB: 8192 }), node('gpu', { memoryMiB: 1024, traits: ['HW_GPU'] })],
    chosen: 'plain',
  },
  {
    name: 'a-true-capability-counts-like-a-trait-and-a-false-one-does-not',
    nodes: [
      node('true', { capabilities: 'has_gpu:yes' }),
      node('false', { capabilities: 'has_gpu:no', memoryMiB: 8192 }),
    ],
    chosen: 'false',
  },
  {
    name: 'processors-before-disk',
    nodes: [node('cpus', { cpus: 16, localGiB: 10 }), node('disk', { cpus: 8, localGiB: 1000 })],
    chosen: 'disk',
  },
];

test.each(ROWS)('$name', ({ nodes, wanted, chosen }) => {
  expect(chooseNode(newFleet(...nodes), { requirements: requirements(wanted), instance: 'i' })).toBe(chosen);
});

test('the-first-on-the-ring-among-equals-also-over-several-shapes-and-round-its-end', () => {
  const ids = Array.from({ length: 40 }, (_, nth) => `node-${nth}`);
  // Of two sites: two shapes that are equally good.
  const fleet = newFleet(...ids.map((id, nth) => node(id, { site: nth % 2 === 0 ? 'north' : 'south' })));
  const ring = ids.toSorted((one, other) => ringPosition(one) - ringPosition(other));
  const beyond = ['x', 'y', 'z', 'i', 'instance-17', 'instance-4'];
  for (const instance of beyond) {
    const first = ring.find((id) => ringPosition(id) >= ringPosition(instance)) ?? ring[0];
    expect(chooseNode(fleet, { requirements: requirements(), instance })).toBe(first);
  }
  const last = ring.at(-1) as string;
  const past = Array.from({ length: 1000 }, (_, nth) => `i${nth}`).find((i) => ringPosition(i) > ringPosition(last));
  expect(chooseNode(fleet, { requirements: requirements(), instance: past as string })).toBe(ring[0]);
});

test('the-first-on-the-ring-among-equal-candidates', () => {
  const ids = Array.from({ length: 20 }, (_, nth) => `node-${nth}` as NodeId);
  const fleet = newFleet(...ids.map((id) => node(id)));
  for (const instance of ['a', 'b', 'c', 'd']) {
    const request: NodeRequest = { requirements: requirements(), instance, candidates: ids.slice(5) };
    expect(chooseNode(fleet, request)).toBe(naiveChoice(fleet, request));
  }
});

/** One field at a time: the lists of a document are kept by an edit of something else. */
test.each<readonly [field: string, edit: Partial<Node>, wanted: Partial<Requirements>]>([
  ['traits', { traits: ['HW_GPU'] }, { requiredTraits: ['HW_GPU'] }],
  ['physicalNetworks', { physicalNetworks: ['p1'] }, { physicalNetworks: ['p1'] }],
  ['physicalNetworks', { physicalNetworks: ['p1'] }, { physicalNetworkChoices: [['p2', 'p1']] }],
  ['memoryMiB', { memoryMiB: 9000 }, { memoryMiB: 9000 }],
  ['cpus', { cpus: 90 }, { cpus: 90 }],
  ['localGiB', { localGiB: 900 }, { localGiB: 900 }],
  ['resourceClass', { resourceClass: 'gold' }, { resourceClass: 'CUSTOM_GOLD' }],
  ['cpuArch', { cpuArch: 'x86_64' }, { architecture: 'x86_64' }],
  [
    'capabilities',
    { capabilities: 'boot:uefi' },
    { capabilities: [{ key: 'boot', test: { kind: 'equal', value: 'uefi' } }] },
  ],
  ['owner', { owner: 'acme' }, { project: 'acme' }],
  ['lessee', { lessee: 'acme' }, { project: 'acme' }],
  ['site', { site: 'north' }, { site: 'north' }],
])('an-edit-of-one-field-moves-a-node-to-another-shape: %s', (_, edit, wanted) => {
  const before = node('n', { owner: 'nobody', lessee: 'nobody' });
  const project = { project: 'nobody', ...wanted };
  const fleet = newFleet(before);
  const request: NodeRequest = { requirements: requirements(project), instance: 'i' };
  expect(chooseNode(fleet, request)).toBeUndefined();
  fleet.apply(2, [{ ...before, doc: { ...before.doc, ...edit } }]);
  expect(chooseNode(fleet, request)).toBe('n');
  fleet.apply(3, [before]);
  expect(chooseNode(fleet, request)).toBeUndefined();
});

test('requests-spread-over-equal-nodes', () => {
  const fleet = newFleet(...Array.from({ length: 100 }, (_, nth) => node(`node-${nth}`)));
  const chosen = new Set(
    Array.from({ length: 400 }, (_, nth) => chooseNode(fleet, { requirements: requirements(), instance: `i-${nth}` })),
  );
  expect(chosen.size).toBeGreaterThan(70);
});
