// What must never be untrue of nodes. Checked after every commit in tests and in the simulation, on the documents that the commit changed.
import type { AppliedChange, Invariant } from '../../fleet/index.ts';
import { NODE, NODE_TRANSITIONS, NODES_BY_INSTANCE, type Node } from '../model.ts';

interface NodeChange {
  readonly id: string;
  readonly before: Node | undefined;
  readonly after: Node | undefined;
}

function nodeChanges(changed: readonly AppliedChange[]): NodeChange[] {
  return changed.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== NODE.name || id === undefined) return [];
    return [{ id, before: before?.doc as Node | undefined, after: after?.doc as Node | undefined }];
  });
}

const transitionIsLegal: Invariant = {
  name: 'never: a node takes a step that its table does not have',
  check: (changed) =>
    nodeChanges(changed).flatMap(({ id, before, after }) => {
      if (before === undefined || after === undefined) return [];
      const [from, to] = [before.state, after.state];
      return NODE_TRANSITIONS[from].includes(to) ? [] : [`node ${id}: ${from} to ${to}`];
    }),
};

const epochGrows: Invariant = {
  name: 'never: the epoch of a node falls, is forgotten, or stays when the right to act on it goes to another',
  check: (changed) =>
    nodeChanges(changed).flatMap(({ id, before, after }) => {
      if (before === undefined) return [];
      if (after === undefined) return [`node ${id} is gone with its epoch ${before.epoch}`];
      if (after.epoch < before.epoch) return [`node ${id}: epoch ${before.epoch} to ${after.epoch}`];
      const isStill = after.epoch === before.epoch && isOtherRight(before, after);
      return isStill ? [`node ${id}: another may act on it under the same epoch ${after.epoch}`] : [];
    }),
};

/** A right that ends is no other right: no manager has it. */
function isOtherRight(before: Node, after: Node): boolean {
  if (after.manager === undefined) return false;
  const fields = ['instance', 'manager', 'managerEpoch'] as const;
  return fields.some((field) => before[field] !== after[field]);
}

const instanceHasOneNode: Invariant = {
  name: 'never: two nodes for one instance',
  check: (changed, fleet) =>
    nodeChanges(changed).flatMap(({ after }) => {
      const instance = after?.instance;
      const count = instance === undefined ? 0 : fleet.countOf(NODES_BY_INSTANCE, instance);
      return count > 1 ? [`instance ${instance} has ${count} nodes`] : [];
    }),
};

const USED: readonly Node['state'][] = ['reserved', 'deploying', 'active', 'cleaning'];

const usedNodeIsManaged: Invariant = {
  name: 'never: a node in use without an instance and a manager, or one out of use with either',
  check: (changed) =>
    nodeChanges(changed).flatMap(({ id, after }) => {
      // One whose cleaning failed has them until its reservation is given back.
      if (after === undefined || (after.state === 'clean-failed' && isWhole(after))) return [];
      const isManaged = after.instance !== undefined && after.manager !== undefined && after.managerEpoch !== undefined;
      const isBare = after.instance === undefined && after.manager === undefined && after.managerEpoch === undefined;
      const isRight = USED.includes(after.state) ? isManaged : isBare;
      return isRight ? [] : [`node ${id} is ${after.state} for ${after.instance} by ${after.manager}`];
    }),
};

/** Either with everything that a node in use has, or without any of it. */
function isWhole({ instance, manager, managerEpoch }: Node): boolean {
  return new Set([instance, manager, managerEpoch].map((one) => one === undefined)).size === 1;
}

const freeNodeIsClean: Invariant = {
  name: 'never: a node free with data on it',
  check: (changed) =>
    nodeChanges(changed).flatMap(({ id, after }) => {
      if (after === undefined || after.dirty === undefined) return [];
      const isAway = after.state !== 'available' && after.state !== 'reserved' && after.state !== 'unavailable';
      return isAway ? [] : [`node ${id} is ${after.state} with data on it`];
    }),
};

/** After a deploy began there is data on it, in every state until it is clean. */
const dataIsRemembered: Invariant = {
  name: 'never: a node is deployed to, or cleaned, and the data on it is not recorded',
  check: (changed) =>
    nodeChanges(changed).flatMap(({ id, after }) => {
      if (after === undefined || after.dirty === true) return [];
      const states: readonly Node['state'][] = ['deploying', 'active', 'cleaning', 'clean-failed'];
      return states.includes(after.state) ? [`node ${id} is ${after.state}, and passes for clean`] : [];
    }),
};

export const NODE_INVARIANTS: readonly Invariant[] = [
  transitionIsLegal,
  epochGrows,
  instanceHasOneNode,
  usedNodeIsManaged,
  freeNodeIsClean,
  dataIsRemembered,
];
