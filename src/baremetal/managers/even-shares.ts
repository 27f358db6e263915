// How many nodes each manager would have if all had the same, and who gives nodes away for that: only managers that a rebalance under way names. A node
// for which a step is under way stays where it is until that has ended.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_TARGET, OPERATION, targetKey, type Item } from '../../operations/index.ts';
import { MANAGER } from '../model.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { isOnDuty } from './right.ts';

export const MANAGER_REBALANCE = 'manager-rebalance';

/** What each manager that takes nodes has under its present lease. There are few. */
export function countNodesOfTakers(fleet: FleetReader): Map<string, number> {
  const managed = fleet.projection(MANAGED_NODES);
  const counts = new Map<string, number>();
  for (const { id, doc } of fleet.all(MANAGER))
    if (isOnDuty(doc) && doc.draining === undefined) counts.set(id, managed.nodesUnder(id, doc.leaseEpoch).size);
  return counts;
}

/** Even shares, at most one apart. Where they are not equal, those that have most keep most: so as few nodes as possible move. */
export function evenShares(counts: ReadonlyMap<string, number>): Map<string, number> {
  const sum = [...counts.values()].reduce((total, one) => total + one, 0);
  const least = Math.floor(sum / Math.max(1, counts.size));
  let larger = sum - least * counts.size;
  const byCount = [...counts].toSorted(([one, its], [other, others]) => others - its || (one < other ? -1 : 1));
  return new Map(byCount.map(([manager]) => [manager, larger-- > 0 ? least + 1 : least]));
}

/** How many nodes a manager has above its even share, or, below zero, how many it lacks; undefined for one that takes none. */
export function surplusOf(fleet: FleetReader, manager: string): number | undefined {
  const counts = countNodesOfTakers(fleet);
  const count = counts.get(manager);
  return count === undefined ? undefined : count - (evenShares(counts).get(manager) ?? 0);
}

/** Whether a rebalance has a manager give its surplus away now. */
export function isGiving(fleet: FleetReader, manager: string, nowMs: number): boolean {
  for (const { doc } of openItemsOf(fleet, manager)) if (isRebalancing(fleet, doc, nowMs)) return true;
  return false;
}

/** Nothing more is offered once it is cancelled, or its deadline has passed. */
function isRebalancing(fleet: FleetReader, { operation: id }: Item, nowMs: number): boolean {
  const operation = fleet.get(OPERATION, idOf(OPERATION, id))?.doc;
  if (operation?.kind !== MANAGER_REBALANCE || operation.state !== 'running') return false;
  return operation.stopped !== true && nowMs <= operation.deadlineAtMs;
}

export function openItemsOf(fleet: FleetReader, manager: string): ReturnType<typeof findItems> {
  const key = targetKey(MANAGER.name, manager);
  return fleet.countOf(OPEN_ITEMS_BY_TARGET, key) === 0 ? [] : findItems(fleet, key);
}

function findItems(fleet: FleetReader, key: string) {
  return fleet.find(OPEN_ITEMS_BY_TARGET, key);
}
