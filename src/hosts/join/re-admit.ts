// Ends a quarantine, and ends joins that did not complete. A removed host comes back only by joining again, never by itself; a quarantined
// one only when an operator re-admits it with a reason.
import { put, remove, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { findHost, removedHost, unknownHost, type AuditedCommand, type StoredHost } from '../decide.ts';
import { HOST, HOSTS_BY_IDENTITY, identityForms, type Host } from '../model.ts';
import { denySharedAddress } from '../tunnel-address-check.ts';

interface AbandonJoinCommand {
  readonly by: string;
  readonly nowMs: number;
}

/** Cancels the join in this operation: the host is deleted if no peer can know it, else finalized. */
export function abandonJoin({ id, doc }: StoredHost, operation: string, { by, nowMs }: AbandonJoinCommand): Change {
  if (!isToBeFinalized(doc)) return remove(HOST, id);
  // Its credentials are revoked in this commit: from then on it is not connected, whatever it sends.
  const { credential: _, ...rest } = doc;
  return put(HOST, id, {
    ...rest,
    state: 'finalizing',
    leaving: { operation, drain: false, by, atMs: nowMs },
    connection: { state: 'down', sinceMs: nowMs },
    changedBy: by,
    changedAtMs: nowMs,
  });
}

/**
 * Whether a host that did not complete its join has to be finalized. Peers may have tunnels to it once its switch was reported, or from
 * before its removal; and a host that was removed before stays removed, so that its identity is still recognised.
 */
export function isToBeFinalized({ readmitted, switch: identity }: Host): boolean {
  return readmitted === true || identity !== undefined;
}

/** Ends a quarantine. The remains of its former life were wiped during it. */
export function reAdmitHost(fleet: FleetReader, { id, by, callerSite, nowMs }: AuditedCommand): Decision<Host> {
  const host = findHost(fleet, id);
  if (host === undefined) return refuse(unknownHost(id));
  if (host.doc.state === 'removed') return refuse(removedHost(id));
  const { quarantined, forcedDown: _, leaving, ...rest } = host.doc;
  if (quarantined === undefined) return accept([], host.doc);
  const twins = twinsOf(fleet, host);
  const living = twins.find(({ doc }) => doc.state !== 'removed' && doc.quarantined === undefined);
  if (living !== undefined) return refuse(sharedIdentity(id, living.id));
  // From then on it has tunnels.
  const address = { host: id, address: host.doc.tunnelAddress, field: '/id', callerSite };
  const taken = denySharedAddress(fleet, address);
  if (taken !== undefined) return refuse(taken);
  const doc: Host = { ...rest, ...clearRebuilt(leaving), changedBy: by, changedAtMs: nowMs };
  const removed = twins.filter((twin) => twin.doc.state === 'removed');
  return accept([put(HOST, host.id, doc), ...removed.map((twin) => clearSwitchIdentity(twin, by, nowMs))], doc);
}

/** Tenants rebuilt elsewhere before it was re-admitted are no reason to distrust it again. */
function clearRebuilt(leaving: Host['leaving']): Pick<Host, 'leaving'> {
  if (leaving === undefined) return {};
  const { rebuilt: _, ...rest } = leaving;
  return { leaving: rest };
}

/** Other hosts that have reported the same switch. */
function twinsOf(fleet: FleetReader, { id, doc }: StoredHost): StoredHost[] {
  const found = identityForms(doc.switch).flatMap((form) => [...fleet.find(HOSTS_BY_IDENTITY, form)]);
  return [...new Map(found.map((host) => [host.id, host])).values()].filter((other) => other.id !== id);
}

/** An operator has assigned the switch of a removed host to another: it no longer identifies the removed one. */
function clearSwitchIdentity({ id, doc }: StoredHost, by: string, nowMs: number): Change {
  const { switch: _, ...rest } = doc;
  return put(HOST, id, { ...rest, changedBy: by, changedAtMs: nowMs });
}

/** With both of them active they could not be distinguished. */
function sharedIdentity(host: string, other: string): Refusal {
  const message = `Host "${host}" still reports the switch of host "${other}". Give its switch a system id and a datapath id of its own, or remove the other host, and then re-admit it.`;
  return { kind: 'conflict', code: 'shared-identity', message, facts: { host, other } };
}
