// How reservations end, from every state of their node; and those that are unused.
import { describe, expect, test } from 'vitest';
import { idOf, put, remove, type Fleet } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import { OPERATION, type OperationId } from '../../operations/index.ts';
import { NODE, RESERVATION, type Node, type NodeState } from '../model.ts';
import { node, nodeOf, putNode, refusalOf, USED } from '../nodes-fixture.ts';
import { reservationId, type StoredReservation } from './documents.ts';
import { releaseReservation } from './release.ts';
import { commit, decide, decideReserve, newFleet, NOW, putManager, reservationOf } from './reservations-fixture.ts';
import { findUnused, isUnused, UNUSED_MAX_MS } from './unused.ts';

const OP = 'op-release' as OperationId;
const storedOf = (fleet: Fleet): StoredReservation | undefined => fleet.get(RESERVATION, reservationId('i1'));
const release = (fleet: Fleet) =>
  releaseReservation(fleet, storedOf(fleet), { instance: 'i1', operation: OP, by: 'test', nowMs: NOW });

function reserved(facts: Partial<Node> = {}): Fleet {
  const fleet = newFleet(putManager('m1'), putNode('n1'));
  decide(fleet, decideReserve(fleet));
  const doc = nodeOf(fleet, 'n1') as Node;
  if (Object.keys(facts).length > 0) {
    // By the states in between.
    for (const state of PATHS[facts.state ?? 'reserved'])
      commit(fleet, [put(NODE, idOf(NODE, 'n1'), { ...doc, ...facts, state })]);
  }
  return fleet;
}

const PATHS: Readonly<Record<NodeState, readonly NodeState[]>> = {
  ...{ available: [], unavailable: [], removed: [], reserved: ['reserved'] },
  deploying: ['deploying'],
  active: ['deploying', 'active'],
  cleaning: ['deploying', 'cleaning'],
  'clean-failed': ['deploying', 'cleaning', 'clean-failed'],
};

describe('baremetal-23: a release is accepted in every state', () => {
  test('before-a-deploy-the-node-is-free-at-once', () => {
    const fleet = reserved();
    expect(decide(fleet, release(fleet)).kind).toBe('released');
    expect(nodeOf(fleet, 'n1')).toMatchObject({ state: 'available', epoch: 1 });
    expect(nodeOf(fleet, 'n1')).not.toHaveProperty('instance');
    expect(reservationOf(fleet)).toBeUndefined();
  });

  test.each(['deploying', 'active', 'cleaning', 'clean-failed'] as const)(
    'of-a-node-that-is-%s-it-is-remembered, and-cleaned-first',
    (state) => {
      const fleet = reserved({ state, dirty: true });
      expect(decide(fleet, release(fleet))).toMatchObject({ kind: 'releasing', operation: OP });
      expect(reservationOf(fleet)).toMatchObject({ state: 'releasing', node: 'n1', operation: OP });
      expect(fleet.get(OPERATION, OP)?.doc).toMatchObject({ kind: 'reservation-release', state: 'running' });
      expect(nodeOf(fleet, 'n1')).toMatchObject({ state, instance: 'i1' });
    },
  );

  test('of-one-that-failed-nothing-is-left', () => {
    const fleet = newFleet(putManager('m1'));
    decide(fleet, decideReserve(fleet));
    expect(reservationOf(fleet)?.state).toBe('error');
    expect(decide(fleet, release(fleet)).kind).toBe('released');
    expect(reservationOf(fleet)).toBeUndefined();
  });
});

describe('baremetal-24: a release that is repeated', () => {
  test('answers-the-same, once-it-is-gone', () => {
    const fleet = reserved();
    const first = decide(fleet, release(fleet));
    const { revision } = fleet;
    expect(decide(fleet, release(fleet)).kind).toBe(first.kind);
    expect(fleet.revision).toBe(revision);
  });

  test('answers-the-same, while-it-is-under-way', () => {
    const fleet = reserved({ state: 'active', dirty: true });
    decide(fleet, release(fleet));
    const { revision } = fleet;
    const again = releaseReservation(fleet, storedOf(fleet), {
      instance: 'i1',
      operation: 'op-other' as OperationId,
      by: 'test',
      nowMs: NOW,
    });
    expect(decide(fleet, again)).toMatchObject({ kind: 'releasing', operation: OP });
    expect(fleet.revision).toBe(revision);
  });
});

const OWN = put(INSTANCE, idOf(INSTANCE, 'i1'), {
  ...{ name: 'i1', project: 'default', flavor: 'metal', amounts: { vcpus: 1, memoryMiB: 1, diskGiB: 0 } },
  ...{ place: { requiredTraits: [], forbiddenTraits: [] }, state: 'active', builder: 'bare-metal', node: 'n1' },
  ...{ nics: [], path: { create: 'conductor', bind: 'conductor' }, attemptsMax: 1, wasActive: true },
  attempts: [{ nth: 1, manager: 'm1', node: 'n1', pools: [], atMs: 0 }],
  ...{ createdBy: 'test', createdAtMs: 0, changedBy: 'test', changedAtMs: 0 },
});

/** With the reservation as its build requested it. */
function commitOwn(fleet: Fleet): void {
  const { id, doc } = storedOf(fleet) as StoredReservation;
  commit(fleet, [OWN, put(RESERVATION, id, { ...doc, request: { ...doc.request, build: 'op-1.i1' } })]);
}

test('never: a reservation is taken from an instance of Musters own', () => {
  const fleet = reserved({ state: 'active', dirty: true });
  commitOwn(fleet);
  expect(refusalOf(release(fleet))).toMatchObject({ kind: 'conflict', code: 'reservation-in-use' });
});

describe('unused', () => {
  const later = NOW + UNUSED_MAX_MS;
  const found = (fleet: Fleet, nowMs = later): string[] => findUnused(fleet, { nowMs, limit: 10 }).map(({ id }) => id);

  test('a-reservation-to-which-nothing-was-deployed-for-300-s', () => {
    const fleet = reserved();
    expect(found(fleet, later - 1)).toEqual([]);
    expect(found(fleet)).toEqual(['i1']);
    expect(isUnused(fleet, storedOf(fleet) as StoredReservation, later)).toBe(true);
  });

  test('not-once-a-deploy-began', () => {
    const fleet = reserved();
    const stored = storedOf(fleet) as StoredReservation;
    const doc = nodeOf(fleet, 'n1') as Node;
    commit(fleet, [put(NODE, idOf(NODE, 'n1'), { ...doc, state: 'deploying', dirty: true })]);
    expect(found(fleet)).toEqual([]);
    expect(isUnused(fleet, stored, later)).toBe(false);
  });

  test('not-while-its-build-is-there, but-once-that-is-gone', () => {
    const fleet = reserved();
    commitOwn(fleet);
    expect(found(fleet)).toEqual([]);
    commit(fleet, [remove(INSTANCE, idOf(INSTANCE, 'i1'))]);
    expect(found(fleet)).toEqual(['i1']);
  });

  test('one-that-another-manager-acquired-counts-from-when-it-was-reserved', () => {
    const fleet = reserved();
    const doc = nodeOf(fleet, 'n1') as Node;
    const acquired = { ...doc, manager: 'm2', managerEpoch: 1, epoch: doc.epoch + 1, changedAtMs: later };
    commit(fleet, [put(NODE, idOf(NODE, 'n1'), acquired)]);
    expect(found(fleet)).toEqual(['i1']);
  });

  test('those-that-are-needed-do-not-hide-those-that-are-not', () => {
    const ids = Array.from({ length: 300 }, (_, nth) => `x${nth}`);
    const used = (id: string) => node({ state: 'reserved', ...USED, instance: id, epoch: 1 });
    const fleet = newFleet(
      ...ids.flatMap((id, nth) => [
        put(NODE, idOf(NODE, id), used(id)),
        put(RESERVATION, reservationId(id), {
          ...{ instance: id, manager: 'm1', state: 'active', digest: '', request: {}, ignored: [], node: id },
          ...{ nodeEpoch: 1, createdAtMs: nth === 299 ? 0 : NOW, changedBy: 'test', changedAtMs: 0 },
        }),
      ]),
    );
    // Behind many that are not due it is found as soon as those are.
    expect(found(fleet, UNUSED_MAX_MS)).toEqual([]);
    expect(findUnused(fleet, { nowMs: later, limit: 1000 })).toHaveLength(300);
  });
});
