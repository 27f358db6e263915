// Decides whether a handover has conntrack sync, how long that may take, and what is reported when it failed. Only NAT has connections that the
// target must know. A failed sync must never keep the service from moving.
import type { FleetReader } from '../../fleet/index.ts';
import { findHost, CONNTRACK_SYNC_VERSION } from '../../hosts/index.ts';
import type { Progress, StoredItem } from '../../operations/index.ts';
import { canTakePartInHandover } from '../health.ts';
import type { ActiveHandover } from './target.ts';

/** The answer of the driver `views` when a host has converged and cannot provide the service yet. */
export const SERVICE_NOT_READY = 'service-not-ready';

/** A service that does not move is worse than cut connections: after this time the handover advances without them. */
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

/** A fact for the operator in the final result: every later reason carries it on. */
export interface UnsyncedHosts {
  readonly uncopied?: readonly string[];
}

export function readUnsyncedHosts({ doc: { reason } }: StoredItem): UnsyncedHosts {
  const hosts = reason?.['uncopied'];
  return Array.isArray(hosts) ? { uncopied: hosts as readonly string[] } : {};
}

/** Hosts are connected and not done: they have not converged, or report why the service is not ready there. */
export function isWaitingForHosts({ doc: { reason } }: StoredItem): boolean {
  return reason?.code === 'hosts-behind' || reason?.code === SERVICE_NOT_READY;
}

/** The hosts that did not finish; none when a wait was impossible for one of them. */
export function collectUnsyncedHosts(item: StoredItem): UnsyncedHosts {
  const { reason } = item.doc;
  const behind = isWaitingForHosts(item) ? (reason?.['hosts'] as readonly string[]) : [];
  return { uncopied: [...new Set([...(readUnsyncedHosts(item).uncopied ?? []), ...behind])].sort() };
}

export function unsyncedReason(item: StoredItem, { uncopied }: UnsyncedHosts): Pick<Progress, 'reason'> {
  if (uncopied === undefined) return {};
  return { reason: { code: 'connections-not-copied', service: item.doc.target.id, uncopied } };
}
