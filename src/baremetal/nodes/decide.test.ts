// What becomes of a node by each command, every refusal by its code, and that a repetition commits nothing.
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../journal/index.ts';
import type { Change, Fleet } from '../../fleet/index.ts';
import { NODES_BY_SITE, type Node } from '../model.ts';
import { NODE_REPRESENTATION } from '../representations.ts';
import { BY, decide, newFleet, node, nodeOf, putNode, putSite, refusalOf, USED } from '../nodes-fixture.ts';
import { confirmNodeClean, createNode, deleteNode, editNode, enterMaintenance, leaveMaintenance } from './decide.ts';
import type { NodeSpec } from './enrol.ts';

const LARGE: NodeSpec = {
  name: 'n1',
  resourceClass: 'large',
  traits: ['CUSTOM_GPU'],
  memoryMiB: 1024,
  cpus: 8,
  localGiB: 100,
  cpuArch: 'x86_64',
  capabilities: 'boot_mode:uefi',
  site: 'north',
  physicalNetworks: ['rack'],
  owner: 'blue',
  lessee: 'red',
};

const ACTIVE: Partial<Node> = {
  state: 'active',
  epoch: 4,
  ...USED,
  dirty: true,
  site: 'north',
  physicalNetworks: ['rack'],
};

const fleetWith = (...changes: readonly Change[]): Fleet => newFleet(putSite('north'), putSite('south'), ...changes);

function changesOf(decision: Decision<unknown>): number {
  return decision.kind === 'accept' ? decision.changes.length : -1;
}

describe('create', () => {
  test('a-machine-is-free-from-then-on', () => {
    const fleet = fleetWith();
    const made = decide(fleet, createNode(fleet, LARGE, BY));
    expect(made).toEqual({
      ...LARGE,
      ...{ inventory: 'simulated', state: 'available', power: 'off', epoch: 0, changedBy: 'test', changedAtMs: 7 },
    });
  });

  test('a-name-is-enough', () => {
    const fleet = fleetWith();
    expect(decide(fleet, createNode(fleet, { name: 'n1' }, BY))).toMatchObject({
      traits: [],
      memoryMiB: 0,
      state: 'available',
    });
  });

  test('in-the-site-of-a-caller-that-is-bound-to-one', () => {
    const fleet = fleetWith();
    const bound = { ...BY, callerSite: 'north' };
    expect(decide(fleet, createNode(fleet, { name: 'n1' }, bound))).toMatchObject({ site: 'north' });
  });

  test.each<[string, NodeSpec, string | undefined, object]>([
    ['there-already', { name: 'taken' }, undefined, { kind: 'conflict', code: 'node-exists', field: '/name' }],
    [
      'no-such-site',
      { name: 'n1', site: 'west' },
      undefined,
      { kind: 'invalid', code: 'unknown-site', field: '/site' },
    ],
    ['another-site', { name: 'n1', site: 'south' }, 'north', { kind: 'forbidden', code: 'other-site', field: '/site' }],
  ])('is-refused: %s', (_, spec, callerSite, refusal) => {
    const fleet = fleetWith(putNode('taken'));
    expect(refusalOf(createNode(fleet, spec, { ...BY, callerSite }))).toMatchObject(refusal);
  });

  test('baremetal-27: a-removed-node-that-is-added-again-is-the-same, under-its-epoch', () => {
    const fleet = fleetWith(putNode('n1', { epoch: 9, resourceClass: 'old' }));
    decide(fleet, deleteNode(fleet, { id: 'n1', ...BY }));
    expect(nodeOf(fleet, 'n1')).toMatchObject({ state: 'removed', epoch: 9 });
    expect(decide(fleet, createNode(fleet, LARGE, BY))).toMatchObject({
      state: 'available',
      epoch: 9,
      resourceClass: 'large',
    });
  });
});

describe('edit', () => {
  test('only-the-given-fields-change, and-null-clears-one', () => {
    const fleet = fleetWith();
    decide(fleet, createNode(fleet, LARGE, BY));
    const edit = { memoryMiB: 2048, lessee: null };
    const { lessee: _, ...kept } = nodeOf(fleet, 'n1')!;
    expect(decide(fleet, editNode(fleet, { id: 'n1', edit, by: 'ann', nowMs: 9 }))).toEqual({
      ...kept,
      ...{ memoryMiB: 2048, changedBy: 'ann', changedAtMs: 9 },
    });
  });

  test('what-is-so-already-commits-nothing', () => {
    const fleet = fleetWith(putNode('n1', { resourceClass: 'large' }));
    expect(changesOf(editNode(fleet, { id: 'n1', edit: { resourceClass: 'large', site: null }, ...BY }))).toBe(0);
  });

  test.each<[string, string, Parameters<typeof editNode>[1]['edit'], object]>([
    ['not-there', 'nowhere', { cpus: 1 }, { kind: 'not-found', code: 'node-not-found' }],
    ['removed', 'gone', { cpus: 1 }, { kind: 'conflict', code: 'node-removed' }],
    ['no-such-site', 'free', { site: 'west' }, { kind: 'invalid', code: 'unknown-site', field: '/site' }],
    ['moved-while-in-use', 'used', { site: 'south' }, { code: 'node-in-use', field: '/site' }],
    [
      'wired-otherwise-while-in-use',
      'used',
      { physicalNetworks: [] },
      { code: 'node-in-use', field: '/physicalNetworks' },
    ],
    ['known-from-an-inventory', 'ironic', { cpus: 1, site: 'north' }, { code: 'node-of-inventory', field: '/cpus' }],
  ])('is-refused: %s', (_, id, edit, refusal) => {
    const fleet = fleetWith(
      putNode('free'),
      putNode('used', ACTIVE),
      putNode('gone', { state: 'removed' }),
      putNode('ironic', { inventory: 'ironic' }),
    );
    expect(refusalOf(editNode(fleet, { id, edit, ...BY }))).toMatchObject(refusal);
  });

  test('a-caller-that-is-bound-to-a-site-moves-nothing-out-of-it', () => {
    const fleet = fleetWith(putNode('n1', { site: 'north' }));
    const bound = { id: 'n1', callerSite: 'north', ...BY };
    for (const site of ['south', null])
      expect(refusalOf(editNode(fleet, { ...bound, edit: { site } }))).toMatchObject({ code: 'other-site' });
    expect(changesOf(editNode(fleet, { ...bound, edit: { cpus: 1 } }))).toBe(1);
  });

  test('where-a-node-of-an-inventory-is-wired-is-said-here', () => {
    const fleet = fleetWith(putNode('n1', { inventory: 'ironic' }));
    const edit = { site: 'north', physicalNetworks: ['rack'] };
    expect(decide(fleet, editNode(fleet, { id: 'n1', edit, ...BY }))).toMatchObject(edit);
  });

  test('what-a-machine-in-use-has-may-be-corrected', () => {
    const fleet = fleetWith(putNode('n1', ACTIVE));
    expect(decide(fleet, editNode(fleet, { id: 'n1', edit: { traits: ['CUSTOM_GPU'] }, ...BY }))).toMatchObject({
      ...ACTIVE,
      traits: ['CUSTOM_GPU'],
    });
  });
});

describe('maintenance', () => {
  const bucketShown = (doc: Node): unknown => (NODE_REPRESENTATION.toJson(doc) as { bucket?: string }).bucket;

  test('a-free-node-is-not-offered-meanwhile', () => {
    const fleet = fleetWith(putNode('n1'));
    const inside = decide(fleet, enterMaintenance(fleet, { id: 'n1', reason: 'new fan', ...BY }));
    expect(inside.maintenance).toEqual({ reason: 'new fan', by: 'test', atMs: 7 });
    expect(bucketShown(inside)).toBe('unavailable');
    const after = decide(fleet, leaveMaintenance(fleet, { id: 'n1', ...BY }));
    expect(after).not.toHaveProperty('maintenance');
    expect(bucketShown(after)).toBe('free');
  });

  test('whoever-has-the-node-keeps-it', () => {
    const fleet = fleetWith(putNode('n1', ACTIVE));
    expect(decide(fleet, enterMaintenance(fleet, { id: 'n1', reason: 'soon', ...BY }))).toMatchObject(ACTIVE);
    expect(bucketShown(nodeOf(fleet, 'n1')!)).toBe('active');
  });

  test('a-repetition-commits-nothing, and-another-reason-does', () => {
    const fleet = fleetWith(putNode('n1'));
    expect(changesOf(leaveMaintenance(fleet, { id: 'n1', ...BY }))).toBe(0);
    decide(fleet, enterMaintenance(fleet, { id: 'n1', reason: 'new fan', ...BY }));
    expect(changesOf(enterMaintenance(fleet, { id: 'n1', reason: 'new fan', by: 'ann', nowMs: 9 }))).toBe(0);
    expect(changesOf(enterMaintenance(fleet, { id: 'n1', reason: 'new disk', ...BY }))).toBe(1);
  });
});

describe('confirm-clean', () => {
  test('a-node-that-could-not-be-cleaned-is-free-again', () => {
    const fleet = fleetWith(putNode('n1', { state: 'clean-failed', dirty: true, epoch: 4 }));
    expect(decide(fleet, confirmNodeClean(fleet, { id: 'n1', ...BY }))).toEqual(
      node({ epoch: 4, changedBy: 'test', changedAtMs: 7 }),
    );
    expect(changesOf(confirmNodeClean(fleet, { id: 'n1', ...BY }))).toBe(0);
  });

  test('a-node-of-an-inventory-waits-for-its-word', () => {
    const fleet = fleetWith(putNode('n1', { inventory: 'ironic', state: 'clean-failed', dirty: true }));
    expect(decide(fleet, confirmNodeClean(fleet, { id: 'n1', ...BY }))).toMatchObject({ state: 'unavailable' });
  });

  test('not-while-an-instance-has-it', () => {
    const fleet = fleetWith(putNode('n1', ACTIVE));
    expect(refusalOf(confirmNodeClean(fleet, { id: 'n1', ...BY }))).toMatchObject({ code: 'node-in-use' });
  });
});

describe('delete', () => {
  test('its-name-and-epoch-are-kept, and-it-holds-its-site-no-more', () => {
    const fleet = fleetWith(putNode('n1', { epoch: 4, site: 'north' }));
    expect(decide(fleet, deleteNode(fleet, { id: 'n1', ...BY }))).toMatchObject({ state: 'removed', epoch: 4 });
    expect(changesOf(deleteNode(fleet, { id: 'n1', ...BY }))).toBe(0);
    expect(fleet.countOf(NODES_BY_SITE, 'north')).toBe(0);
  });

  test.each<[string, string, object]>([
    ['not-there', 'nowhere', { kind: 'not-found', code: 'node-not-found' }],
    ['in-use', 'used', { kind: 'conflict', code: 'node-in-use', facts: { node: 'used', instance: 'i1' } }],
    ['being-claimed', 'claimed', { kind: 'conflict', code: 'node-in-use', facts: { node: 'claimed', instance: 'i9' } }],
    ['known-from-an-inventory', 'ironic', { kind: 'conflict', code: 'node-of-inventory' }],
  ])('is-refused: %s', (_, id, refusal) => {
    const fleet = fleetWith(
      putNode('used', ACTIVE),
      putNode('claimed', { claimedFor: 'i9' }),
      putNode('ironic', { inventory: 'ironic' }),
    );
    expect(refusalOf(deleteNode(fleet, { id, ...BY }))).toMatchObject(refusal);
  });
});
