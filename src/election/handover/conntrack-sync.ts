// Whether the connections of a service are copied while it is handed over, how long that is waited for, and what is told when
// they were not. Only translations have connections that the next host must know.
import type { FleetReader } from '../../fleet/index.ts';
import { findHost, CONNTRACK_SYNC_VERSION } from '../../hosts/index.ts';
import type { Progress, StoredItem } from '../../operations/index.ts';
import { canTakePartInHandover } from '../health.ts';
import type { ActiveHandover } from './target.ts';

/** What the driver `views` answers when a host has converged and cannot provide the service yet. */
export const SERVICE_NOT_READY = 'service-not-ready';

/** A service that does not move is worse than connections that are cut: then it goes on without them. */
export const CONNTRACK_SYNC_TIMEOUT_MS = 10_000;

/** Both ends take part, so both must be there and know how. */
export function canSyncConntrack(fleet: FleetReader, { service, handover: { from, to } }: ActiveHandover): boolean {
  return (
    service.doc.type === 'nat' &&
    [from, to].every((host) => canTakePartInHandover(fleet, host) && supportsConntrackSync(fleet, host))
  );
}

function supportsConntrackSync(fleet: FleetReader, host: string): boolean {
  return (findHost(fleet, host)?.doc.serviceVersion ?? 0) >= CONNTRACK_SYNC_VERSION;
}

/** What the operator is to read in the end, whatever is waited for until then: a fact that every later reason carries on. */
export interface UnsyncedHosts {
  readonly uncopied?: readonly string[];
}

export function unsyncedHostsIn({ doc: { reason } }: StoredItem): UnsyncedHosts {
  const hosts = reason?.['uncopied'];
  return Array.isArray(hosts) ? { uncopied: hosts as readonly string[] } : {};
}

/** Hosts are connected and have not done their part: they have not converged, or say why the service is not ready there. */
export function isWaitingForHosts({ doc: { reason } }: StoredItem): boolean {
  return reason?.code === 'hosts-behind' || reason?.code === SERVICE_NOT_READY;
}

/** Those that were waited for in vain; none when one of them could not be waited for at all. */
export function collectUnsyncedHosts(item: StoredItem): UnsyncedHosts {
  const { reason } = item.doc;
  const behind = isWaitingForHosts(item) ? (reason?.['hosts'] as readonly string[]) : [];
  return { uncopied: [...new Set([...(unsyncedHostsIn(item).uncopied ?? []), ...behind])].sort() };
}

export function unsyncedReason(item: StoredItem, { uncopied }: UnsyncedHosts): Pick<Progress, 'reason'> {
  if (uncopied === undefined) return {};
  return { reason: { code: 'connections-not-copied', service: item.doc.target.id, uncopied } };
}
