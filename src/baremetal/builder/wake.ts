// Which open items of instances on nodes are to be looked at again because of a change that is not of the instance itself.
import { idOf, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import {
  ITEM,
  OPEN_ITEMS_BY_ASSIGNEE,
  OPEN_ITEMS_BY_TARGET,
  targetKey,
  type StoredItem,
} from '../../operations/index.ts';
import { MANAGER, NODE, RESERVATION, type Node } from '../model.ts';
import { MANAGER_TASKS } from '../managers/manager-tasks.ts';

/** Items of instances whose node or reservation changed, and of managers that came or went. */
export function* itemsToWake(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind === MANAGER.name) yield* itemsOfManager(fleet, (after ?? before)?.id ?? '');
  if (kind === RESERVATION.name) yield* itemsOn(fleet, (after ?? before)?.id);
  if (kind !== NODE.name) return;
  const instances = new Set([before, after].map((side) => (side?.doc as Node | undefined)?.instance));
  for (const instance of instances) yield* itemsOn(fleet, instance);
}

/** Items of nodes alone: the node itself wakes them, and its manager does. */
export function* itemsOnManagedNodes(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind === MANAGER.name) yield* itemsOfManager(fleet, (after ?? before)?.id ?? '');
}

function itemsOn(fleet: FleetReader, instance: string | undefined): Iterable<StoredItem> {
  return instance === undefined ? [] : fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance));
}

/** Whatever it has a task of, and what is assigned to it. */
function* itemsOfManager(fleet: FleetReader, manager: string): Iterable<StoredItem> {
  yield* fleet.find(OPEN_ITEMS_BY_ASSIGNEE, manager);
  for (const id of fleet.projection(MANAGER_TASKS).itemsOf(manager)) {
    const item = fleet.get(ITEM, idOf(ITEM, id));
    if (item !== undefined) yield item;
  }
}
