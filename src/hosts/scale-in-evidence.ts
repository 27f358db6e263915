// What is in the way of a host's removal: whatever lives on it, and a control channel that is open. Looked at inside the commit
// that acts on it; there is no timer in it.
import type { FleetReader, Reason } from '../fleet/index.ts';
import { OPEN_ITEMS_BY_HOST } from '../operations/index.ts';
import type { StoredHost } from './decide.ts';
import type { Evacuator, Tenant } from './evacuator.ts';
import type { Host } from './model.ts';

/** More are not told by name. */
const BLOCKERS_MAX = 100;

/** Whether its agent may be heard at any moment. */
export function isConnected({ connection, forcedDown }: Host): boolean {
  return forcedDown === undefined && (connection.state === 'up' || connection.state === 'suspect');
}

/**
 * Tenants that keep a host from leaving, the first of them. What ends with the host does not. `enough`: no more are looked for.
 * Costs what is told, unless all of it ends with the host.
 */
export function tenantsIn(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, nowMs, enough }: { readonly host: string; readonly nowMs: number; readonly enough: number },
): Tenant[] {
  const found: Tenant[] = [];
  for (const evacuator of evacuators) {
    const inventory = evacuator.inventory(fleet, host);
    for (let at = 0; at < inventory.length && found.length < enough; at += BLOCKERS_MAX) {
      const tenants = inventory.slice(at, at + Math.min(BLOCKERS_MAX, enough));
      const planned = evacuator.plan(fleet, [{ host, tenants }], nowMs);
      found.push(...planned.filter(({ evacuation }) => evacuation.kind !== 'ends').map(({ tenant }) => tenant));
    }
  }
  return found.slice(0, enough);
}

/** Whether nothing lives on it. */
export function isEmpty(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  at: { readonly host: string; readonly nowMs: number },
): boolean {
  return tenantsIn(fleet, evacuators, { ...at, enough: 1 }).length === 0;
}

/** Work that its agent still has to do, other than for the item that asks. A host that is away does none. */
export function isWorking(fleet: FleetReader, { id, doc }: StoredHost, item: string): boolean {
  if (!isConnected(doc)) return false;
  return [...fleet.find(OPEN_ITEMS_BY_HOST, id)].some((one) => one.id !== item);
}

/** What keeps it from being removed now, by name. */
export function blockersOf(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, nowMs }: { readonly host: StoredHost; readonly nowMs: number },
): Reason[] {
  const { id, doc } = host;
  const living = tenantsIn(fleet, evacuators, { host: id, nowMs, enough: BLOCKERS_MAX + 1 });
  const named = living
    .slice(0, BLOCKERS_MAX)
    .map((tenant): Reason => ({ code: 'lives-here', host: id, kind: tenant.kind, tenant: tenant.id }));
  if (living.length > BLOCKERS_MAX) named.push({ code: 'more-live-here', host: id, told: BLOCKERS_MAX });
  if (named.length === 0 && doc.state === 'draining') named.push({ code: 'not-drained', host: id });
  return named;
}

export function stillConnected({ id, doc }: StoredHost): Reason {
  const { state, sinceMs } = doc.connection;
  return { code: 'still-connected', host: id, connection: state, sinceMs };
}
