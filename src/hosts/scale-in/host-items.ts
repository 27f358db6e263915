// The open items of a host between service and removal, and how one verb closes the items of another.
import { idOf, put, type AppliedChange, type Change, type FleetReader } from '../../fleet/index.ts';
import {
  ITEM,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  targetKey,
  type Item,
  type NewItem,
  type StoredItem,
} from '../../operations/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';

export const DRAIN_KIND = 'scale-in';
export const END_KIND = 'scale-in-end';
export const RECOVER_KIND = 'scale-in-recover';

/** Starting one of these closes the open ones: a host moves in one direction only. */
const ONE_WAY: readonly string[] = [DRAIN_KIND, END_KIND, RECOVER_KIND];

/** Peers are notified and views are checked; a day is more than any of it takes. */
export const END_DEADLINE_MS = 24 * 3600 * 1000;

/** The item of a host in an operation that ends it, past the point of no return. */
export function finalizeItem(id: string): NewItem {
  return { key: id, target: { kind: HOST.name, id }, step: 'finalize' };
}

/** Open items of one kind of operation for a host. */
export function openWork(fleet: FleetReader, host: string, ...kinds: readonly string[]): StoredItem[] {
  return [...itemsOfHost(fleet, host)].filter((item) => kinds.includes(kindOf(fleet, item)));
}

/** Whether a scale-in moves tenants off the host now: it is not empty yet, is not recovering, and the deadline has not passed. */
export function isBeingEmptied(fleet: FleetReader, host: string): boolean {
  const doc = fleet.get(HOST, idOf(HOST, host))?.doc;
  return doc?.state === 'draining' && doc.leaving?.drain === true && openWork(fleet, host, DRAIN_KIND).length > 0;
}

export function kindOf(fleet: FleetReader, { doc }: StoredItem): string {
  return fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.kind ?? '';
}

/** The open items of the host, closed. */
export function cancelOpenItems(
  fleet: FleetReader,
  host: string,
  nowMs: number,
  kinds: readonly string[] = ONE_WAY,
): Change[] {
  return openWork(fleet, host, ...kinds).map(({ id, doc }) => {
    const { reason: _, retryAtMs: __, ...rest } = doc;
    return put(ITEM, id, { ...rest, state: 'cancelled', sinceMs: nowMs });
  });
}

/** Operations whose last item is closed by these changes without any success: cancelled, not successful. */
export function cancelEmptiedOperations(fleet: FleetReader, changes: readonly Change[]): Change[] {
  const closed = changes.filter(({ kind }) => kind === ITEM.name);
  const closing = new Set(closed.map(({ id }) => id));
  const operations = new Set(closed.map(({ doc }) => (doc as Item).operation));
  return [...operations].flatMap((id) => {
    const operation = fleet.get(OPERATION, idOf(OPERATION, id));
    if (operation?.doc.state !== 'running') return [];
    const all = [...fleet.find(ITEMS_BY_OPERATION, id)];
    if (!all.every((item) => closing.has(item.id) || item.doc.state === 'cancelled')) return [];
    const { stopped: _, ...rest } = operation.doc;
    return [put(OPERATION, operation.id, { ...rest, state: 'cancelling' })];
  });
}

/** The site of an operation, if all its hosts are in one. */
export function commonSiteOf(changes: readonly Change[]): { readonly site?: string } {
  const sites = new Set(
    changes.flatMap(({ kind, doc }) => (kind === HOST.name && doc !== null ? [(doc as Host).site] : [])),
  );
  const [site] = sites;
  return sites.size === 1 && site !== undefined ? { site } : {};
}

/** Open items of the hosts that may have more to do after a change. */
export function* findTouchedItems(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  change: AppliedChange,
): Iterable<StoredItem> {
  for (const evacuator of evacuators) {
    for (const host of evacuator.hostsAffectedBy?.(change, fleet) ?? []) yield* itemsOfHost(fleet, host);
  }
}

export function itemsOfHost(fleet: FleetReader, host: string): Iterable<StoredItem> {
  return fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(HOST.name, host));
}
