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
export function itemsToWake(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind === MANAGER.name) return itemsOfManager(fleet, (after ?? before)?.id ?? '');
  if (kind === RESERVATION.name) return itemsOn(fleet, (after ?? before)?.id);
  if (kind !== NODE.name) return NO_ITEMS;
  const [had, has] = [(before?.doc as Node | undefined)?.instance, (after?.doc as Node | undefined)?.instance];
  return had === has || had === undefined ? itemsOn(fleet, has) : [...itemsOn(fleet, had), ...itemsOn(fleet, has)];
}

const NO_ITEMS: readonly StoredItem[] = [];

/** Items of nodes alone: the node itself wakes them, and its manager does. */
export function* itemsOnManagedNodes(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind === MANAGER.name) yield* itemsOfManager(fleet, (after ?? before)?.id ?? '');
}

/** Most instances have no open item, and counting is cheaper than finding. */
function itemsOn(fleet: FleetReader, instance: string | undefined): Iterable<StoredItem> {
  if (instance === undefined) return NO_ITEMS;
  const key = targetKey(INSTANCE.name, instance);
  return fleet.countOf(OPEN_ITEMS_BY_TARGET, key) === 0 ? NO_ITEMS : fleet.find(OPEN_ITEMS_BY_TARGET, key);
}

/** Whatever it has a task of, and what is assigned to it. */
function* itemsOfManager(fleet: FleetReader, manager: string): Iterable<StoredItem> {
  yield* fleet.find(OPEN_ITEMS_BY_ASSIGNEE, manager);
  for (const id of fleet.projection(MANAGER_TASKS).itemsOf(manager)) {
    const item = fleet.get(ITEM, idOf(ITEM, id));
    if (item !== undefined) yield item;
  }
}
