// Decides what blocks a host's removal: any tenant on it, and an open control channel. Evaluated inside the commit that acts on it; it must
// never rely on a timer.
import type { FleetReader, Reason } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_HOST, type StoredItem } from '../../operations/index.ts';
import type { StoredHost } from '../decide.ts';
import { planEvacuation, type Evacuator, type Tenant } from '../evacuator.ts';
import type { Host } from '../model.ts';
import { peerCleanUpKind } from './pending-clean-up.ts';
import { straysReason } from '../strays.ts';
import { END_KIND, kindOf } from './host-items.ts';

/** No more are named. */
const BLOCKERS_MAX = 100;
/** Work of a host that its removal does not wait for. */
const OF_LEAVING: readonly string[] = [END_KIND, peerCleanUpKind.name];

/** Whether its agent may report at any moment. A host that sends heartbeats is not off, whatever its force-down says. */
export function isConnected({ connection, forcedDown }: Host): boolean {
  return connection.state === 'up' || (connection.state === 'suspect' && forcedDown === undefined);
}

/**
 * The first tenants that keep a host from leaving. Tenants that end with the host do not. `enough`: stop after this many. Costs O(tenants
 * returned), unless all of them end with the host.
 */
export function findBlockingTenants(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, nowMs, enough }: { readonly host: string; readonly nowMs: number; readonly enough: number },
): Tenant[] {
  const found: Tenant[] = [];
  for (const evacuator of evacuators) {
    const inventory = evacuator.inventory(fleet, host);
    if (evacuator.canEndWithHost !== true) {
      found.push(...inventory.slice(0, enough - found.length));
      continue;
    }
    const atOnce = Math.min(BLOCKERS_MAX, enough);
    for (let at = 0; at < inventory.length && found.length < enough; at += atOnce) {
      const tenants = inventory.slice(at, at + atOnce);
      const planned = planEvacuation(fleet, evacuator, [{ host, tenants }], { nowMs });
      found.push(...planned.filter(({ evacuation }) => evacuation.kind !== 'ends').map(({ tenant }) => tenant));
    }
  }
  return found.slice(0, enough);
}

/** Why tenants that left the host by its drain do not count as moved. */
export function* unsettledReasonsOf(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  host: string,
): Iterable<Reason> {
  for (const evacuator of evacuators) yield* evacuator.findUnsettled?.(fleet, host) ?? [];
}

/** Whether nothing lives on it. */
export function isEmpty(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  at: { readonly host: string; readonly nowMs: number },
): boolean {
  return findBlockingTenants(fleet, evacuators, { ...at, enough: 1 }).length === 0;
}

/** Tasks that its agent still has to do. A disconnected host does none; what it has of its peers is wiped when it leaves. */
function* workOf(fleet: FleetReader, { id, doc }: StoredHost): Iterable<StoredItem> {
  if (!isConnected(doc)) return;
  for (const item of fleet.find(OPEN_ITEMS_BY_HOST, id)) if (!OF_LEAVING.includes(kindOf(fleet, item))) yield item;
}

/** The first such task; undefined when its agent has none left. */
export function remainingWorkReason(fleet: FleetReader, host: StoredHost): Reason | undefined {
  const [first] = workOf(fleet, host);
  return first === undefined ? undefined : workReason(host.id, first);
}

function workReason(host: string, { doc: { target, operation } }: StoredItem): Reason {
  return { code: 'host-works', host, kind: target.kind, target: target.id, operation };
}

export function isWorking(fleet: FleetReader, host: StoredHost): boolean {
  const [first] = workOf(fleet, host);
  return first !== undefined;
}

/** The blockers of its removal, by name. */
export function blockersOf(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, nowMs }: { readonly host: StoredHost; readonly nowMs: number },
): Reason[] {
  const { id, doc } = host;
  const living = findBlockingTenants(fleet, evacuators, { host: id, nowMs, enough: BLOCKERS_MAX + 1 });
  const named = living
    .slice(0, BLOCKERS_MAX)
    .map((tenant): Reason => ({ code: 'lives-here', host: id, kind: tenant.kind, tenant: tenant.id }));
  if (living.length > BLOCKERS_MAX) named.push({ code: 'more-live-here', host: id, shown: BLOCKERS_MAX });
  for (const reason of unsettledReasonsOf(fleet, evacuators, id)) {
    if (named.length > BLOCKERS_MAX) break;
    named.push(reason);
  }
  if (doc.strays !== undefined) named.push(straysReason(id, doc.strays));
  if (named.length === 0 && doc.state === 'draining') named.push({ code: 'not-drained', host: id });
  for (const { doc: work } of workOf(fleet, host)) {
    if (named.length > BLOCKERS_MAX) break;
    const { kind, id: target } = work.target;
    // Listed already: the tenant lives here, and the task waits until it does not.
    if (living.some((tenant) => tenant.kind === kind && tenant.id === target)) continue;
    named.push({ code: 'host-works', host: id, kind, target, operation: work.operation });
  }
  return named;
}

export function stillConnectedReason({ id, doc }: StoredHost): Reason {
  const { state, sinceMs } = doc.connection;
  return { code: 'still-connected', host: id, connection: state, sinceMs };
}
