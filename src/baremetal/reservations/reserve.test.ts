// What becomes of a request for a node where the journal is the inventory: each outcome and each refusal.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { QUOTA } from '../../network/index.ts';
import { bucketOf, NODE, type Node } from '../model.ts';
import { nodeOf, putNode, refusalOf } from '../nodes-fixture.ts';
import {
  decide,
  decideReserve,
  newFleet,
  NOW,
  putManager,
  reservationOf,
  type BodyFields,
} from './reservations-fixture.ts';
import type { ReserveAnswer, ReserveCommand } from './reserve.ts';

const kindOf = (decision: Decision<ReserveAnswer>): string =>
  decision.kind === 'refuse' ? decision.refusal.code : decision.answer.kind;

describe('one match', () => {
  test('one-commit: the reservation is active, the node is the instances and the managers', () => {
    const fleet = newFleet(putManager('m1'), putNode('n1', { epoch: 4, traits: ['HW_GPU'] }));
    const body: BodyFields = { memory_mb: 1024, rxtx_factor: 1, extra_specs: { 'trait:HW_GPU': 'required' } };
    expect(decide(fleet, decideReserve(fleet, body))).toEqual({ kind: 'reserved' });
    expect(nodeOf(fleet, 'n1')).toMatchObject({
      state: 'reserved',
      instance: 'i1',
      manager: 'm1',
      managerEpoch: 3,
      epoch: 5,
    });
    const reserved = reservationOf(fleet);
    expect(reserved).toMatchObject({
      instance: 'i1',
      manager: 'm1',
      state: 'active',
      node: 'n1',
      nodeEpoch: 5,
      traits: ['HW_GPU'],
      ignored: ['rxtx_factor'],
      createdAtMs: NOW,
    });
    expect(reserved?.request).toEqual({ instance_uuid: 'i1', manager: 'm1', ...body });
  });

  test('the-manager-is-named-in-any-case', () => {
    const fleet = newFleet(putManager('m1'), putNode('n1'));
    expect(kindOf(decideReserve(fleet, { manager: 'M1' }))).toBe('reserved');
  });
});

describe('the quota of a project', () => {
  const quota = (limits: object) =>
    put(QUOTA, idOf(QUOTA, 'acme'), { project: 'acme', ...limits, changedBy: 'test', changedAtMs: 0 });
  const nodes = ['n1', 'n2', 'n3'].map((id) => putNode(id));

  test.each([
    [{ instances: 1 }, 'instances'],
    [{ vcpus: 6 }, 'vcpus'],
    [{ memoryMiB: 1500 }, 'memoryMiB'],
  ])('%j: a second reservation by hand is refused, and nothing is reserved', (limits, what) => {
    const fleet = newFleet(putManager('m1'), quota(limits), ...nodes);
    const body = { project: 'acme', vcpus: 4, memory_mb: 1024 };
    expect(decide(fleet, decideReserve(fleet, body))).toEqual({ kind: 'reserved' });
    const second = decideReserve(fleet, { ...body, instance_uuid: 'i2' });
    expect(refusalOf(second)).toMatchObject({ kind: 'conflict', code: 'quota-exceeded', facts: { what } });
    expect(kindOf(decideReserve(fleet, body))).toBe('existing');
    expect(kindOf(decideReserve(fleet, { ...body, project: 'other', instance_uuid: 'i2' }))).toBe('reserved');
    expect(kindOf(decideReserve(fleet, { instance_uuid: 'i3' }))).toBe('reserved');
  });
});

describe('a repeat', () => {
  const body: BodyFields = { memory_mb: 1, extra_specs: { 'trait:A': 'required' } };
  const node = putNode('n1', { traits: ['A'] });

  test('changes-nothing, by-whomever', () => {
    const fleet = newFleet(putManager('m1'), putManager('m2'), node, putNode('n2', { traits: ['A'] }));
    decide(fleet, decideReserve(fleet, body));
    const again = decideReserve(fleet, { ...body, vcpus: null, manager: 'm2' });
    expect(again).toEqual({ kind: 'accept', changes: [], answer: { kind: 'existing' } });
    // Also when no caller could request it any more.
    expect(kindOf(decideReserve(fleet, body, { isLeaseLive: () => false }))).toBe('existing');
  });

  test('another-request-is-refused', () => {
    const fleet = newFleet(putManager('m1'), node);
    decide(fleet, decideReserve(fleet, body));
    expect(refusalOf(decideReserve(fleet, { ...body, memory_mb: 2 }))).toMatchObject({
      kind: 'conflict',
      code: 'request-differs',
      facts: { instance: 'i1' },
    });
  });
});

describe('no match', () => {
  test('is-refused, and-leaves-its-counts', () => {
    const fleet = newFleet(
      putManager('m1'),
      putNode('n1', { memoryMiB: 1024 }),
      putNode('n2', { memoryMiB: 4096 }),
      putNode('n3', { maintenance: { reason: 'fan', by: 'ann', atMs: 0 } }),
    );
    const body: BodyFields = { memory_mb: 2048, extra_specs: { 'trait:HW_GPU': 'required' } };
    const answer = decide(fleet, decideReserve(fleet, body));
    if (answer.kind !== 'no-match') throw new Error(answer.kind);
    const stages = [
      { stage: 'candidates', left: 3 },
      { stage: 'state', left: 2 },
      { stage: 'class', left: 2 },
      { stage: 'sizes', left: 1 },
      { stage: 'traits', left: 0 },
      { stage: 'capabilities', left: 0 },
      { stage: 'image', left: 0 },
      { stage: 'owner', left: 0 },
      { stage: 'networks', left: 0 },
    ];
    expect(answer.refusal).toMatchObject({ code: 'no-match', facts: { instance: 'i1', stage: 'traits', stages } });
    expect(answer.refusal.message).toMatchInlineSnapshot(
      `"No node for instance "i1": 0 of 1 have the traits HW_GPU. Request less, or see what was left after each stage with "muster baremetal reservations show i1"."`,
    );
    expect(reservationOf(fleet)).toMatchObject({
      state: 'error',
      stages,
      failedAtMs: NOW,
      reason: { code: 'no-match' },
    });
    expect(reservationOf(fleet)).not.toHaveProperty('node');
  });

  test('gives-way-to-the-next-request, the-same-or-another', () => {
    const fleet = newFleet(putManager('m1'), putNode('n1', { memoryMiB: 1024 }));
    decide(fleet, decideReserve(fleet, { memory_mb: 2048 }));
    expect(kindOf(decideReserve(fleet, { memory_mb: 2048 }))).toBe('no-match');
    decide(fleet, decideReserve(fleet, { memory_mb: 512 }));
    expect(reservationOf(fleet)).toMatchObject({ state: 'active', node: 'n1' });
    expect(reservationOf(fleet)).not.toHaveProperty('stages');
    expect(reservationOf(fleet)).not.toHaveProperty('failedAtMs');
  });
});

test('never: a project fills the journal with reservations that failed: beyond 500 they are answered, and not kept', () => {
  const fleet = newFleet(putManager('m1'), putNode('n1', { memoryMiB: 1024 }));
  const acme = { project: 'acme' };
  const fail = (nth: number, facts: Partial<ReserveCommand> = acme): Decision<ReserveAnswer> =>
    decideReserve(fleet, { instance_uuid: `i${nth}`, memory_mb: 2048 }, facts);
  for (let nth = 0; nth < 500; nth += 1) decide(fleet, fail(nth));
  const beyond = fail(500);
  expect(refusalOf(beyond)).toMatchObject({
    code: 'no-match',
    message: expect.stringContaining('in this answer') as string,
    facts: { instance: 'i500', stage: 'sizes' },
  });
  // One that is kept already makes none more, and other projects have their own.
  expect(kindOf(fail(7))).toBe('no-match');
  expect(kindOf(fail(500, { project: 'other' }))).toBe('no-match');
});

describe('who may request', () => {
  test.each<[string, Parameters<typeof putManager>[1] | undefined, Partial<ReserveCommand>, string]>([
    ['nobody-of-that-name', undefined, {}, 'manager-not-registered'],
    ['one-whose-lease-ran-out', {}, { isLeaseLive: () => false }, 'manager-lapsed'],
    ['one-that-was-lost', { state: 'lost' }, {}, 'manager-lapsed'],
    ['one-that-stopped', { state: 'stopped' }, {}, 'manager-lapsed'],
    ['one-that-drains', { state: 'draining', draining: { by: 'ann', atMs: 0 } }, {}, 'manager-draining'],
    ['a-live-one', {}, {}, 'reserved'],
    ['one-of-another-site', { site: 'north' }, { site: 'central' }, 'manager-not-registered'],
  ])('%s', (_, facts, how, code) => {
    const fleet = newFleet(putNode('n1'), ...(facts === undefined ? [] : [putManager('m1', facts)]));
    expect(kindOf(decideReserve(fleet, {}, how))).toBe(code);
    if (code !== 'reserved') {
      expect(refusalOf(decideReserve(fleet, {}, how))).toMatchObject({ kind: 'conflict', field: '/manager' });
    }
  });

  test('the-lease-that-counts-is-that-of-its-epoch', () => {
    const fleet = newFleet(putNode('n1'), putManager('m1', { leaseEpoch: 9 }));
    const seen: unknown[] = [];
    decideReserve(fleet, {}, { isLeaseLive: (...args) => seen.push(args) > 0 });
    expect(seen).toEqual([['m1', 9]]);
  });
});

describe('which node', () => {
  const nodes: readonly (readonly [string, Partial<Node>])[] = [
    ['small', { memoryMiB: 1024, name: 'rack-1' }],
    ['large', { memoryMiB: 8192 }],
    ['mine', { memoryMiB: 512, owner: 'acme' }],
    ['rented', { memoryMiB: 256, owner: 'other', lessee: 'acme' }],
    ['north', { memoryMiB: 128, site: 'north' }],
  ];
  test.each<[string, BodyFields, Partial<ReserveCommand>, string]>([
    ['the-smallest-of-all-that-are-nobodys', {}, {}, 'north'],
    ['a-named-one', { candidate_nodes: ['large'] }, {}, 'large'],
    ['one-by-the-name-of-its-inventory', { candidate_nodes: ['rack-1'] }, {}, 'small'],
    ['the-best-of-those-named', { candidate_nodes: ['large', 'small'] }, {}, 'small'],
    ['what-a-project-rents', { project: 'acme' }, {}, 'north'],
    ['what-a-project-owns', { project: 'acme', memory_mb: 300 }, {}, 'mine'],
    ['what-it-rents', { project: 'acme', candidate_nodes: ['rented', 'large'] }, {}, 'rented'],
    ['nothing-of-another-project', { project: 'third', memory_mb: 200 }, {}, 'small'],
    ['of-the-callers-site-alone', {}, { site: 'north' }, 'north'],
  ])('%s', (_, body, facts, chosen) => {
    const fleet = newFleet(putManager('m1'), ...nodes.map(([id, node]) => putNode(id, node)));
    decide(fleet, decideReserve(fleet, body, facts));
    expect(reservationOf(fleet)?.node).toBe(chosen);
  });

  test.each<[string, BodyFields, Partial<ReserveCommand>]>([
    ['another-projects-node', { candidate_nodes: ['mine'], project: 'third' }, {}],
    ['a-node-of-another-site', { candidate_nodes: ['large'] }, { site: 'north' }],
  ])('never: %s', (_, body, facts) => {
    const fleet = newFleet(putManager('m1'), ...nodes.map(([id, node]) => putNode(id, node)));
    expect(kindOf(decideReserve(fleet, body, facts))).toBe('no-match');
  });

  test('an-unknown-candidate-is-named-by-its-place', () => {
    const fleet = newFleet(putManager('m1'), putNode('n1'), putNode('gone', { state: 'removed', power: 'unknown' }));
    const asked: BodyFields = { candidate_nodes: ['n1', 'nobody'] };
    expect(refusalOf(decideReserve(fleet, asked))).toMatchObject({
      kind: 'invalid',
      code: 'unknown-candidate',
      field: '/candidate_nodes/1',
    });
    expect(kindOf(decideReserve(fleet, { candidate_nodes: ['gone'] }))).toBe('unknown-candidate');
    // What the caller does not see does not exist.
    const isVisible: ReserveCommand['isVisible'] = (_fleet, { id }) => id !== 'n1';
    expect(kindOf(decideReserve(fleet, { candidate_nodes: ['n1'] }, { isVisible }))).toBe('unknown-candidate');
  });
});

test('never: more nodes are given than there are, or one twice', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 10 }), (nodes, requests) => {
      const ids = Array.from({ length: nodes }, (_, nth) => `n${nth}`);
      const fleet = newFleet(putManager('m1'), ...ids.map((id) => putNode(id)));
      for (let nth = 0; nth < requests; nth += 1) decide(fleet, decideReserve(fleet, { instance_uuid: `i${nth}` }));
      const states = Array.from({ length: requests }, (_, nth) => reservationOf(fleet, `i${nth}`)?.state);
      expect(states.filter((state) => state === 'active')).toHaveLength(Math.min(nodes, requests));
      const taken = ids.filter((id) => bucketOf(fleet.get(NODE, idOf(NODE, id))?.doc as Node) === 'reserved');
      expect(taken).toHaveLength(Math.min(nodes, requests));
    }),
    { numRuns: 100 },
  );
});
