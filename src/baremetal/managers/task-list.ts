// The tasks of a manager now, each with the node that it is about: found through the node, or by the assignee of an item that has none yet. A
// manager is given no task of a node that it has not acquired under its present lease.
import { idOf, type FleetReader, type Stored } from '../../fleet/index.ts';
import { ITEM, operationOf, taskId, taskOf, type OperationKind, type StoredItem } from '../../operations/index.ts';
import { MANAGER, type Manager, type Node } from '../model.ts';
import { MANAGER_TASKS } from './manager-tasks.ts';
import { TASKS_MAX, type ManagerTask } from './messages.ts';
import { findNodeOf, hasTaker, lastBegin } from './share.ts';

type Kinds = ReadonlyMap<string, OperationKind>;

/** As the control plane knows it: until when it may be carried out, by the clock of the server that decides. */
export interface ListedTask extends ManagerTask {
  readonly deadlineAtMs: number;
}

export function listTasks(fleet: FleetReader, kinds: Kinds, name: string): ListedTask[] {
  const manager = fleet.get(MANAGER, idOf(MANAGER, name));
  const tasks: ListedTask[] = [];
  if (manager === undefined) return tasks;
  // One that drains continues while no other manager is there.
  const beginsUntil = hasTaker(fleet) ? lastBegin(manager) : Infinity;
  for (const id of fleet.projection(MANAGER_TASKS).itemsOf(name)) {
    if (tasks.length === TASKS_MAX) break;
    const item = fleet.get(ITEM, idOf(ITEM, id));
    if (item === undefined || item.revision > beginsUntil) continue;
    const task = taskFor(fleet, kinds, item, manager);
    if (task !== undefined) tasks.push(task);
  }
  return tasks;
}

function taskFor(
  fleet: FleetReader,
  kinds: Kinds,
  item: StoredItem,
  { id: name, doc: { leaseEpoch } }: Stored<'manager', Manager>,
): ListedTask | undefined {
  const node = findNodeOf(fleet, item.doc.target);
  const isManaged = node?.doc.manager !== undefined;
  if (isManaged && (node.doc.manager !== name || node.doc.managerEpoch !== leaseEpoch)) return undefined;
  const task = taskOf(fleet, kinds, item);
  if (task === undefined) return undefined;
  const { deadlineAtMs } = operationOf(fleet, item).doc;
  const named = { id: taskId(item), kind: task.kind, args: task.args, deadlineAtMs };
  return isManaged ? { ...named, ...nodeFacts(node.id, node.doc) } : named;
}

/** For its manager, whose clock is another: how long it may take from when it was requested. */
export function toManagerTask({ deadlineAtMs, ...task }: ListedTask, requestedAtMs: number): ManagerTask {
  return { ...task, remainingMs: Math.max(0, deadlineAtMs - requestedAtMs) };
}

function nodeFacts(
  node: string,
  { epoch: nodeEpoch, instance, inventory }: Node,
): Omit<ManagerTask, 'id' | 'kind' | 'args'> {
  return { node, nodeEpoch, inventory, ...(instance !== undefined && { instance }) };
}

/** Whose task an item's is: that of its node's manager, or of its assignee while there is no node that has one. */
export function managerOfItem(fleet: FleetReader, { target, assignee }: StoredItem['doc']): string | undefined {
  return findNodeOf(fleet, target)?.doc.manager ?? assignee;
}
