// Trusting a host again, and forgetting one that did not come in. A host that was removed comes back by joining anew, never by
// itself; one in quarantine comes back when somebody says why.
import { put, remove, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { findHost, removedHost, unknownHost, type AuditedCommand, type StoredHost } from '../decide.ts';
import { HOST, HOSTS_BY_IDENTITY, identityForms, type Host } from '../model.ts';
import { denySharedAddress } from '../tunnel-address-check.ts';

interface AbandonJoinCommand {
  readonly by: string;
  readonly nowMs: number;
}

/** A join is given up by this operation. Nobody has heard of the host, and it is forgotten, unless it has to be finalized. */
export function abandonJoin({ id, doc }: StoredHost, operation: string, { by, nowMs }: AbandonJoinCommand): Change {
  if (!isToBeFinalized(doc)) return remove(HOST, id);
  // Its credentials go with this commit: whatever it says, it is not connected any more.
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
 * Whether a host that did not come in leaves as others do. Peers may have tunnels to it once its switch was there, or from before it
 * was removed; and one that was removed before stays removed, so that whoever shows its identity is still known.
 */
export function isToBeFinalized({ readmitted, switch: identity }: Host): boolean {
  return readmitted === true || identity !== undefined;
}

/** Ends a quarantine. What the host has of its old life was wiped while it lasted. */
export function reAdmitHost(fleet: FleetReader, { id, by, callerSite, nowMs }: AuditedCommand): Decision<Host> {
  const host = findHost(fleet, id);
  if (host === undefined) return refuse(unknownHost(id));
  if (host.doc.state === 'removed') return refuse(removedHost(id));
  const { quarantined, forcedDown: _, leaving, ...rest } = host.doc;
  if (quarantined === undefined) return accept([], host.doc);
  const twins = twinsOf(fleet, host);
  const living = twins.find(({ doc }) => doc.state !== 'removed' && doc.quarantined === undefined);
  if (living !== undefined) return refuse(sharedIdentity(id, living.id));
  // It has tunnels from then on.
  const address = { host: id, address: host.doc.tunnelAddress, field: '/id', callerSite };
  const taken = denySharedAddress(fleet, address);
  if (taken !== undefined) return refuse(taken);
  const doc: Host = { ...rest, ...clearRebuilt(leaving), changedBy: by, changedAtMs: nowMs };
  const removed = twins.filter((twin) => twin.doc.state === 'removed');
  return accept([put(HOST, host.id, doc), ...removed.map((twin) => clearSwitchIdentity(twin, by, nowMs))], doc);
}

/** What was built elsewhere before somebody trusted it is no reason to distrust it again. */
function clearRebuilt(leaving: Host['leaving']): Pick<Host, 'leaving'> {
  if (leaving === undefined) return {};
  const { rebuilt: _, ...rest } = leaving;
  return { leaving: rest };
}

/** Other hosts that have shown the same switch. */
function twinsOf(fleet: FleetReader, { id, doc }: StoredHost): StoredHost[] {
  const found = identityForms(doc.switch).flatMap((form) => [...fleet.find(HOSTS_BY_IDENTITY, form)]);
  return [...new Map(found.map((host) => [host.id, host])).values()].filter((other) => other.id !== id);
}

/** The switch of a removed host is another's now, by somebody's word: it no longer tells of the removed one. */
function clearSwitchIdentity({ id, doc }: StoredHost, by: string, nowMs: number): Change {
  const { switch: _, ...rest } = doc;
  return put(HOST, id, { ...rest, changedBy: by, changedAtMs: nowMs });
}

/** With both of them in service nobody could tell them apart. */
function sharedIdentity(host: string, other: string): Refusal {
  const message = `Host "${host}" still shows the switch of host "${other}". Give its switch an identity of its own first.`;
  return { kind: 'conflict', code: 'shared-identity', message, facts: { host, other } };
}
