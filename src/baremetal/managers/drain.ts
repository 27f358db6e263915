// The operation `manager-drain`: a manager that is alive gives its nodes away. They are offered to the others, idle ones at once and busy ones after
// their step, and it is done when none is left. It acts on no machine.
import { idOf, mark, put, type AppliedChange, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  expectUnchanged,
  newOperation,
  OPERATION,
  record,
  wait,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { MANAGER, NODE, type Manager, type Node } from '../model.ts';
import { clearDraining, managerId, markDraining, unknownManager } from './decide.ts';
import { openItemsOf } from './even-shares.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { hasTaker } from './share.ts';

export const MANAGER_DRAIN = 'manager-drain';
const STEP = 'offer';
const DRAINER = `operation:${MANAGER_DRAIN}`;
const DEADLINE_MS = 24 * 3600 * 1000;

export const managerDrainKind: OperationKind = {
  name: MANAGER_DRAIN,
  steps: [STEP],
  cancel: {
    kind: 'does',
    what: 'The manager takes nodes again. Those that others have taken over stay with them.',
  },
  retry: { kind: 'does', what: 'what is left is offered to the other managers again' },
  plan: (fleet, items, nowMs) => items.map((item) => planItem(fleet, item, nowMs)),
  undo: (fleet, item, nowMs) => {
    const manager = fleet.get(MANAGER, idOf(MANAGER, item.doc.target.id));
    if (manager === undefined) return { changes: [], expects: [] };
    // It may register under another lease, or be lost, before this is committed.
    return {
      changes: clearDraining(fleet, { manager: manager.id, by: DRAINER, nowMs }),
      expects: [expectUnchanged(MANAGER, manager)],
    };
  },
  itemsToWake: (fleet, change) => itemsOfFormerManager(fleet, change),
};

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const manager = fleet.get(MANAGER, idOf(MANAGER, item.doc.target.id));
  const { id } = item.doc.target;
  if (manager?.doc.draining === undefined)
    return record(item, { state: 'done', step: STEP, reason: { code: 'manager-drain-ended', manager: id } });
  const nodes = fleet.projection(MANAGED_NODES).countOf(id);
  if (nodes > 0) return wait(item, waitReason(fleet, id, nodes));
  mark('manager-drained');
  const { draining, ...doc } = manager.doc;
  const empty: Manager = {
    ...doc,
    draining: { ...draining, emptyAtMs: nowMs },
    changedBy: DRAINER,
    changedAtMs: nowMs,
  };
  return record(
    item,
    { state: 'done', step: STEP },
    { changes: [put(MANAGER, manager.id, empty)], expects: [{ kind: MANAGER.name, id, revision: manager.revision }] },
  );
}

function waitReason(fleet: FleetReader, manager: string, nodes: number): Reason {
  const code = hasTaker(fleet) ? 'nodes-to-take-over' : 'no-other-manager';
  return { code, manager, nodes };
}

/** A node went to another: one less is left. */
function itemsOfFormerManager(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind !== NODE.name) return [];
  const former = (before?.doc as Node | undefined)?.manager;
  if (former === undefined || former === (after?.doc as Node | undefined)?.manager) return [];
  return openItemsOf(fleet, former);
}

/** The operation that drains a manager now. */
function openDrainOf(fleet: FleetReader, manager: string): OperationId | undefined {
  for (const { doc } of openItemsOf(fleet, manager)) {
    const operation = fleet.get(OPERATION, idOf(OPERATION, doc.operation));
    if (operation?.doc.kind === MANAGER_DRAIN && operation.doc.state === 'running') return operation.id;
  }
  return undefined;
}

export interface BeginDrain {
  readonly managers: readonly string[];
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string | undefined;
  readonly nowMs: number;
  readonly deadlineMs?: number | undefined;
  /** The scale-in of their hosts requests it: a drain ends when the host stays. */
  readonly withHost?: true;
}

/** They get no new nodes from this commit on, and those that they have are offered. */
export function beginDrain(fleet: FleetReader, command: BeginDrain): Change[] {
  const { managers, operation, by, why, nowMs, deadlineMs = DEADLINE_MS, withHost } = command;
  const docs = managers.map((name) => fleet.get(MANAGER, managerId(name))?.doc);
  const sites = new Set(docs.map((doc) => doc?.site));
  const [site] = sites.size === 1 ? sites : [];
  const title = `drain ${managers.length === 1 ? `manager ${managers[0]}` : `${managers.length} managers`}`;
  const items = managers.map((name) => ({ key: name, target: { kind: MANAGER.name, id: name }, step: STEP }));
  return [
    ...managers.flatMap((manager, nth) =>
      markDraining(fleet, { manager, by, nowMs, host: withHost === true ? docs[nth]?.host : undefined }),
    ),
    ...newOperation({ id: operation, kind: MANAGER_DRAIN, title, by, why, site, nowMs, deadlineMs, items }),
  ];
}

/** Answers the operation that drains it: the one that is under way already, if any is. */
export function drainManager(
  fleet: FleetReader,
  { manager: name, ...command }: Omit<BeginDrain, 'managers' | 'withHost'> & { readonly manager: string },
): Decision<OperationId> {
  const manager = managerId(name);
  if (fleet.get(MANAGER, manager) === undefined) return refuse(unknownManager(name));
  const underWay = openDrainOf(fleet, manager);
  if (underWay !== undefined) return accept([], underWay);
  return accept(beginDrain(fleet, { ...command, managers: [manager] }), command.operation);
}

/** The operation finds that there is nothing left to do. */
export function undrainManager(
  fleet: FleetReader,
  { manager: name, by, nowMs }: { readonly manager: string; readonly by: string; readonly nowMs: number },
): Decision<null> {
  if (fleet.get(MANAGER, managerId(name)) === undefined) return refuse(unknownManager(name));
  return accept(clearDraining(fleet, { manager: name, by, nowMs }), null);
}
