// Each invariant, broken once.
import { expect, test } from 'vitest';
import { idOf, remove, type Change } from '../../fleet/index.ts';
import { NODE, type Node } from '../model.ts';
import { newFleet, putNode, USED } from '../nodes-fixture.ts';
import { NODE_INVARIANTS } from './invariants.ts';

const DATA = { dirty: true } as const;
const ACTIVE: Partial<Node> = { state: 'active', epoch: 4, ...USED, ...DATA };

/** What the invariants say of a commit; no fixture looks at them before. */
function findBroken(before: readonly Change[], ...changes: readonly Change[]): string[] {
  const fleet = newFleet();
  fleet.apply(1, before);
  const applied = fleet.apply(2, changes);
  return NODE_INVARIANTS.flatMap(({ check }) => check(applied, fleet));
}

test.each<[string, Change[], Change, string]>([
  [
    'a-step-that-the-table-does-not-have',
    [putNode('n1', ACTIVE)],
    putNode('n1', { epoch: 4 }),
    'node n1: active to available',
  ],
  ['an-epoch-falls', [putNode('n1', { epoch: 4 })], putNode('n1', { epoch: 3 }), 'node n1: epoch 4 to 3'],
  [
    'a-node-is-forgotten',
    [putNode('n1', { state: 'removed', epoch: 4 })],
    remove(NODE, idOf(NODE, 'n1')),
    'node n1 is gone with its epoch 4',
  ],
  [
    'a-reservation-without-another-epoch',
    [putNode('n1', { epoch: 4 })],
    putNode('n1', { state: 'reserved', epoch: 4, ...USED }),
    'node n1: another may act on it under the same epoch 4',
  ],
  [
    'an-acquisition-without-another-epoch',
    [putNode('n1', ACTIVE)],
    putNode('n1', { ...ACTIVE, manager: 'm2' }),
    'node n1: another may act on it under the same epoch 4',
  ],
  [
    'another-lease-without-another-epoch',
    [putNode('n1', ACTIVE)],
    putNode('n1', { ...ACTIVE, managerEpoch: 9 }),
    'node n1: another may act on it under the same epoch 4',
  ],
  ['two-nodes-for-an-instance', [putNode('n1', ACTIVE)], putNode('n2', ACTIVE), 'instance i1 has 2 nodes'],
  [
    'a-free-node-with-a-manager',
    [],
    putNode('n1', { manager: 'm1', managerEpoch: 1 }),
    'node n1 is available for undefined by m1',
  ],
  [
    'a-node-in-use-without-a-manager',
    [],
    putNode('n1', { state: 'reserved', epoch: 1, instance: 'i1' }),
    'node n1 is reserved for i1 by undefined',
  ],
  [
    'a-failed-cleaning-with-half-a-reservation',
    [],
    putNode('n1', { state: 'clean-failed', ...DATA, instance: 'i1' }),
    'node n1 is clean-failed for i1 by undefined',
  ],
  ['a-free-node-with-data', [], putNode('n1', DATA), 'node n1 is available with data on it'],
  [
    'data-that-nobody-remembers',
    [],
    putNode('n1', { state: 'active', epoch: 4, ...USED }),
    'node n1 is active, and passes for clean',
  ],
])('%s-is-noticed', (_, before, change, said) => {
  expect(findBroken(before, change)).toEqual([said]);
});

test.each<[string, Change[], Change]>([
  ['a-reservation', [putNode('n1', { epoch: 4 })], putNode('n1', { state: 'reserved', epoch: 5, ...USED })],
  ['an-acquisition', [putNode('n1', ACTIVE)], putNode('n1', { ...ACTIVE, manager: 'm2', epoch: 5 })],
  ['an-edit', [putNode('n1', ACTIVE)], putNode('n1', { ...ACTIVE, resourceClass: 'large' })],
  ['an-abandoned-cleaning', [], putNode('n1', { state: 'clean-failed', ...DATA })],
  [
    'a-removal-with-data',
    [putNode('n1', { state: 'clean-failed', ...DATA })],
    putNode('n1', { state: 'removed', ...DATA }),
  ],
])('%s-breaks-nothing', (_, before, change) => {
  expect(findBroken(before, change)).toEqual([]);
});
