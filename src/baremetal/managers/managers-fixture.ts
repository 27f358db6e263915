// Managers, their nodes and their items on a plain fleet, in compact form.
import { accessModel } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { Fleet, idOf, put, Registry, SETTING, type Change } from '../../fleet/index.ts';
import { hostsModel } from '../../hosts/index.ts';
import {
  ITEM,
  newOperation,
  OPERATION,
  operationsModel,
  type Item,
  type OperationKind,
} from '../../operations/index.ts';
import { sitesModel } from '../../sites/index.ts';
import { baremetalModel } from '../fleet-model.ts';
import { NODE_INVARIANTS } from '../nodes/invariants.ts';
import { MANAGER_INVARIANTS } from './invariants.ts';
import { MANAGER, type Manager, type Node } from '../model.ts';
import { putNode, putReservationOf } from '../nodes-fixture.ts';

export const MODELS = [
  { kinds: [SETTING] },
  ...[sitesModel, alarmsModel, accessModel, operationsModel, hostsModel],
  // Nodes are given to managers without reservations.
  { ...baremetalModel, invariants: [...NODE_INVARIANTS, ...MANAGER_INVARIANTS] },
];

export function newFleet(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry(MODELS));
  if (changes.length > 0) fleet.apply(1, changes);
  return fleet;
}

/** What was committed after all else, whatever a clock says. */
export function withLater(fleet: Fleet, ...changes: readonly Change[]): Fleet {
  if (changes.length > 0) fleet.apply(fleet.revision + 1, changes);
  return fleet;
}

export function putManager(name: string, facts: Partial<Manager> = {}): Change {
  const doc: Manager = {
    ...{ name, version: '1.0.0', state: 'live', holder: `${name}-1`, leaseEpoch: 3, sinceMs: 0 },
    ...{ changedBy: 'test', changedAtMs: 0 },
    ...facts,
  };
  return put(MANAGER, idOf(MANAGER, name), doc);
}

/** A node in use, for an instance of the same name. */
export function putOwned(id: string, manager: string, facts: Partial<Node> = {}): Change {
  const used = { state: 'active', power: 'on', dirty: true, epoch: 4, instance: `of-${id}`, managerEpoch: 3 } as const;
  return putNode(id, { ...used, manager, ...facts });
}

/** The same with its reservation. */
export function putReserved(id: string, manager: string): Change[] {
  const change = putOwned(id, manager);
  return [change, putReservationOf(id, change.doc as Node)];
}

export const DRAINING: Partial<Manager> = { state: 'draining', draining: { by: 'test', atMs: 100 } };

/** Whatever its step is, is its task. */
export const anyKind: OperationKind = {
  name: 'any',
  steps: ['deploy'],
  cancel: { kind: 'none', because: 'of the test' },
  retry: { kind: 'none', because: 'of the test' },
  plan: () => [],
  task: (item) => (item.doc.step === 'none' ? undefined : { kind: item.doc.step, args: {} }),
  handleTaskAnswer: (item) => ({
    ...{ kind: 'record', item: item.id, expected: item.revision, changes: [], expects: [] },
    progress: { state: 'done', step: item.doc.step },
  }),
};
export const KINDS = new Map([[anyKind.name, anyKind]]);

/** An operation of that kind with one item. */
export function putWork(id: string, item: Partial<Item> & Pick<Item, 'target'>): Change[] {
  const operation = idOf(OPERATION, id);
  const began = newOperation({
    ...{ id: operation, kind: 'any', title: id, by: 'test', nowMs: 0, deadlineMs: 1000, items: [] },
  });
  const doc: Item = { operation: id, step: 'deploy', state: 'running', attempt: 1, sinceMs: 0, ...item };
  return [...began, put(ITEM, idOf(ITEM, `${id}.a`), doc)];
}
