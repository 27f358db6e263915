// What the drains under way have still to move, and where they may move it. Previews, lists of tenants and of what is blocked plan with it, so that they
// say the same of one tenant: a place that another drain will take is not free.
import type { FleetReader } from '../../fleet/index.ts';
import { siteLimitOf } from '../../operations/index.ts';
import { findHost, type StoredHost } from '../decide.ts';
import type { Evacuator, Tenant } from '../evacuator.ts';
import { HOSTS_BY_STATE } from '../model.ts';
import { DRAIN_KIND, openWork } from '../scale-in/host-items.ts';

/** Instances of a host that the operator empties by other means are not moved, so nothing holds them up; its services are. */
export function listRemainingTenants(evacuator: Evacuator, fleet: FleetReader, host: string): readonly Tenant[] {
  const isMoved = evacuator.leavesFirst === true || findHost(fleet, host)?.doc.leaving?.drain === true;
  if (!isMoved) return [];
  const remaining = evacuator.listRemainingTenants?.(fleet, host);
  // In the order of the inventory: whoever is planned first gets the place.
  return remaining === undefined ? evacuator.inventory(fleet, host) : [...remaining].sort(compareIds);
}

function compareIds(one: Tenant, other: Tenant): number {
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

/** Sorted by id. */
export function findDrainingHosts(fleet: FleetReader): StoredHost[] {
  return [...fleet.find(HOSTS_BY_STATE, 'state:draining')];
}

/** The site that the drain of a host keeps its instances in; of a host that nothing drains, the one that is given. */
export function siteToStayIn(fleet: FleetReader, host: string, otherwise?: string): string | undefined {
  const [drain] = openWork(fleet, host, DRAIN_KIND);
  return drain === undefined ? otherwise : siteLimitOf(fleet, drain.doc);
}
