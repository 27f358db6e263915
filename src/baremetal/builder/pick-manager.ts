// Which manager a build goes to: the one with the fewest nodes and builds that have none yet. Managers differ in nothing else for a request; one that
// drains, was lost or has stopped gets none.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_ASSIGNEE } from '../../operations/index.ts';
import { MANAGED_NODES } from '../managers/managed-nodes.ts';
import { MANAGER, type Manager } from '../model.ts';

/** Undefined when none takes anything now. `assigned`: builds that the same decision gave them before. There are few managers. */
export function pickManager(fleet: FleetReader, assigned: ReadonlyMap<string, number> = NONE): string | undefined {
  const managed = fleet.projection(MANAGED_NODES);
  let best: { readonly id: string; readonly load: number } | undefined;
  for (const { id, doc } of fleet.all(MANAGER)) {
    if (!takesBuilds(doc)) continue;
    const load = managed.countOf(id) + fleet.countOf(OPEN_ITEMS_BY_ASSIGNEE, id) + (assigned.get(id) ?? 0);
    if (best === undefined || load < best.load) best = { id, load };
  }
  return best?.id;
}

const NONE: ReadonlyMap<string, number> = new Map();

export function canTakeBuilds(fleet: FleetReader, manager: string | undefined): boolean {
  const doc = manager === undefined ? undefined : fleet.get(MANAGER, idOf(MANAGER, manager))?.doc;
  return doc !== undefined && takesBuilds(doc);
}

/** One that drains is not live: it is `draining`. */
function takesBuilds({ state }: Manager): boolean {
  return state === 'live';
}
