// Whether what a call requests of a machine is still to be done. A call that comes late comes from the node's own manager, under the same lease and epoch: only the
// work that it was sent for distinguishes it from one that is due. Obeyed, it would put data on a machine that was just cleaned, or undo what was requested since.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import {
  isAwaited,
  ITEM,
  itemOfTask,
  shortenText,
  taskOf,
  type OperationKind,
  type StoredItem,
} from '../../operations/index.ts';
import type { MachineAction, MachineCall } from '../drivers/inventory.ts';
import { NODE, type Node } from '../model.ts';
import { refuseFenced } from './right.ts';
import { findNodeOf } from './share.ts';

/** The id of an item, of its step and of its attempt; whatever else a manager may send is not repeated whole. */
const TASK_SHOWN_MAX = 300;

type Kinds = ReadonlyMap<string, OperationKind>;

/** The instance leaves: nothing but this is done to its machine any more. */
const LEAVING: readonly Node['state'][] = ['cleaning', 'clean-failed'];
const CLEARING: readonly MachineAction[] = ['disconnect', 'clean'];

/** Of a call by whoever has the right; undefined when it is due. Without a task it is a manager's own affair, as for a node that was reserved by hand. */
export function denyUnlessAwaited(fleet: FleetReader, kinds: Kinds, call: MachineCall): Refusal | undefined {
  const { node: id, action, manager, nodeEpoch, instance, args } = call;
  const { task } = args;
  const facts = { manager, node: id, nodeEpoch, instance };
  const state = fleet.get(NODE, idOf(NODE, id))?.doc.state;
  if (state !== undefined && LEAVING.includes(state) && !CLEARING.includes(action))
    return refuseFenced('node-leaving', `Node "${id}" is ${state}: nothing is done to it for "${instance}".`, facts);
  if (typeof task !== 'string') return undefined;
  const item = fleet.get(ITEM, itemOfTask(task));
  if (item !== undefined && isAwaited(fleet, kinds, item, task) && isAbout(fleet, kinds, { item, call }))
    return undefined;
  const named = shortenText(task, TASK_SHOWN_MAX);
  return refuseFenced('task-over', `Nothing waits for task "${named}" on node "${id}" any more.`, facts);
}

function isAbout(
  fleet: FleetReader,
  kinds: Kinds,
  { item, call }: { readonly item: StoredItem; readonly call: MachineCall },
): boolean {
  return findNodeOf(fleet, item.doc.target)?.id === call.node && taskOf(fleet, kinds, item)?.kind === call.action;
}
