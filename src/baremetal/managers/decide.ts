// Decides what becomes of a manager: it registers under a lease, drains, stops, is lost, is forgotten. Leases themselves are the store's: only
// transitions are journalled. It must never move a node.
import { clearAlarm } from '../../alarms/index.ts';
import {
  idOf,
  put,
  remove,
  type Change,
  type FleetReader,
  type Refusal,
  type Stored,
  type ChangeNote,
} from '../../fleet/index.ts';
import { findHost, unknownHost } from '../../hosts/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { SITE, unknownSite } from '../../sites/index.ts';
import { MANAGER, type Manager, type ManagerId } from '../model.ts';
import { revokeManagerTokens } from './join.ts';
import { lostAlarmId } from './alarms.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { isOnDuty, type ClaimedTenure } from './right.ts';

export type StoredManager = Stored<'manager', Manager>;

/** Names of managers are compared in lower case: "Host1" and "host1" are one. */
export function managerId(name: string): ManagerId {
  return idOf(MANAGER, name.toLowerCase());
}

export interface RegisterManager extends ClaimedTenure, ChangeNote {
  readonly version: string;
  readonly host?: string | undefined;
  readonly site?: string | undefined;
  readonly embedded?: true | undefined;
}

/** The lease was acquired before. One that repeats its request under the same lease is already registered. */
export function registerManager(fleet: FleetReader, command: RegisterManager): Decision<Manager> {
  const { manager, holder, leaseEpoch, version, embedded, by, nowMs } = command;
  const id = managerId(manager);
  const known = fleet.get(MANAGER, id)?.doc;
  if (known !== undefined && known.leaseEpoch > leaseEpoch) return refuse(nameTaken(id));
  const place = resolvePlace(fleet, command);
  if ('code' in place) return refuse(place);
  const { host: _, site: __, ...rest } = known ?? { draining: undefined };
  const state = rest.draining === undefined ? 'live' : 'draining';
  const isNew = known?.state !== state || known.leaseEpoch !== leaseEpoch;
  const doc: Manager = {
    ...(rest.draining !== undefined && { draining: rest.draining }),
    ...place,
    ...(embedded === true && { embedded }),
    // Of the process that was halted: another one is not.
    ...(known?.paused !== undefined && known.holder === holder && { paused: known.paused }),
    ...{ name: id, version, state, holder, leaseEpoch },
    sinceMs: isNew || known === undefined ? nowMs : known.sinceMs,
    ...{ changedBy: by, changedAtMs: nowMs },
  };
  if (known !== undefined && isSameRegistration(known, doc)) return accept([], known);
  return accept([put(MANAGER, id, doc), ...clearAlarm(fleet, lostAlarmId(id))], doc);
}

function isSameRegistration(one: Manager, other: Manager): boolean {
  const fields = ['state', 'holder', 'leaseEpoch', 'version', 'host', 'site', 'embedded'] as const;
  return fields.every((field) => one[field] === other[field]);
}

/** A manager on a host is where that is. */
function resolvePlace(
  fleet: FleetReader,
  { host: name, site }: Pick<RegisterManager, 'host' | 'site'>,
): Pick<Manager, 'host' | 'site'> | Refusal {
  if (site !== undefined && fleet.get(SITE, idOf(SITE, site)) === undefined) return unknownSite(site, '/site');
  if (name === undefined) return site === undefined ? {} : { site };
  const host = findHost(fleet, name);
  if (host === undefined || host.doc.state === 'removed')
    return { ...unknownHost(name), kind: 'invalid', field: '/host' };
  return { host: host.id, site: site ?? host.doc.site };
}

/** A clean stop of the process. Of one that has registered anew since, or was lost, nothing changes. */
export function stopManager(
  fleet: FleetReader,
  command: ClaimedTenure & ChangeNote,
): Decision<'stopped' | 'unchanged'> {
  const { manager, holder, leaseEpoch } = command;
  const stored = fleet.get(MANAGER, managerId(manager));
  if (stored === undefined || stored.doc.holder !== holder || stored.doc.leaseEpoch !== leaseEpoch)
    return accept([], 'unchanged');
  if (!isOnDuty(stored.doc)) return accept([], 'unchanged');
  return accept([transition(stored, 'stopped', command)], 'stopped');
}

/** Its lease ran out under this epoch; if it has registered anew meanwhile, it is not lost. */
export function loseManager(
  fleet: FleetReader,
  { manager, leaseEpoch, ...command }: Pick<ClaimedTenure, 'manager' | 'leaseEpoch'> & ChangeNote,
): Change[] {
  const stored = fleet.get(MANAGER, managerId(manager));
  if (stored === undefined || stored.doc.leaseEpoch !== leaseEpoch || !isOnDuty(stored.doc)) return [];
  return [transition(stored, 'lost', command)];
}

export interface DrainManager extends ChangeNote {
  readonly manager: string;
  /** The host whose scale-in requests it. */
  readonly host?: string | undefined;
}

/** It gets no new nodes from this commit on. Nothing changes for one that drains already. */
export function markDraining(fleet: FleetReader, { manager, by, nowMs, host }: DrainManager): Change[] {
  const stored = fleet.get(MANAGER, managerId(manager));
  if (stored === undefined || stored.doc.draining !== undefined) return [];
  const draining = { by, atMs: nowMs, ...(host !== undefined && { host }) };
  const { doc } = stored;
  const drained: Manager = { ...doc, draining };
  return [
    doc.state === 'live'
      ? transition({ ...stored, doc: drained }, 'draining', { by, nowMs })
      : edit({ ...stored, doc: drained }, { by, nowMs }),
  ];
}

/** It gets new nodes again. What it has given away stays where it is. */
export function clearDraining(fleet: FleetReader, { manager, by, nowMs }: Omit<DrainManager, 'host'>): Change[] {
  const stored = fleet.get(MANAGER, managerId(manager));
  if (stored?.doc.draining === undefined) return [];
  const { draining: _, ...doc } = stored.doc;
  const command = { by, nowMs };
  return [
    doc.state === 'draining' ? transition({ ...stored, doc }, 'live', command) : edit({ ...stored, doc }, command),
  ];
}

/** Only one that is gone and has nothing left: its name, and the epoch of its lease, may be used again, with a credential that is made anew. */
export function forgetManager(
  fleet: FleetReader,
  { id: name, by, nowMs }: ChangeNote & { readonly id: string },
): Decision<StoredManager> {
  const stored = fleet.get(MANAGER, managerId(name));
  if (stored === undefined) return refuse(unknownManager(name));
  const { id, doc } = stored;
  if (isOnDuty(doc)) return refuse(managerOnDuty(id));
  // It is there, and would begin anew at once.
  if (doc.paused !== undefined) return refuse(managerPaused(id));
  const nodes = fleet.projection(MANAGED_NODES).countOf(id);
  if (nodes > 0) return refuse(managerHasNodes(id, nodes));
  const revoked = revokeManagerTokens(fleet, { manager: id, by, nowMs });
  return accept([remove(MANAGER, id), ...revoked, ...clearAlarm(fleet, lostAlarmId(id))], stored);
}

function transition({ id, doc }: StoredManager, state: Manager['state'], { by, nowMs }: ChangeNote): Change {
  return put(MANAGER, id, { ...doc, state, sinceMs: nowMs, changedBy: by, changedAtMs: nowMs });
}

function edit({ id, doc }: StoredManager, { by, nowMs }: ChangeNote): Change {
  return put(MANAGER, id, { ...doc, changedBy: by, changedAtMs: nowMs });
}

export function unknownManager(name: string): Refusal {
  const message = `There is no manager "${name}". List them with "muster baremetal managers list".`;
  return { kind: 'not-found', code: 'manager-not-found', message, facts: { manager: name } };
}

export function nameTaken(name: string, remainingMs?: number): Refusal {
  const until =
    remainingMs === undefined ? '' : ` Its lease lasts ${Math.ceil(remainingMs / 1000)} s more unless it is renewed.`;
  const message = `Another process is manager "${name}".${until} Stop that one first, or give this one another name.`;
  const facts = { manager: name, ...(remainingMs !== undefined && { remainingMs }) };
  return { kind: 'conflict', code: 'manager-name-taken', message, facts };
}

export function leaseLost(name: string): Refusal {
  const message = `The lease of manager "${name}" is over. Stop acting on machines, register again, and acquire its nodes again.`;
  return { kind: 'conflict', code: 'lease-lost', message, facts: { manager: name } };
}

function managerOnDuty(name: string): Refusal {
  const message = `Manager "${name}" is live. Stop its process first.`;
  return { kind: 'conflict', code: 'manager-live', message, facts: { manager: name } };
}

function managerPaused(name: string): Refusal {
  const message = `Manager "${name}" is paused: its process is there. Resume it with "muster baremetal managers resume ${name}", and stop its server if it is not to come back.`;
  return { kind: 'conflict', code: 'manager-paused', message, facts: { manager: name } };
}

function managerHasNodes(name: string, nodes: number): Refusal {
  const message = `Manager "${name}" still has ${nodes} nodes that no other has taken over. Start another manager, and wait until it has them.`;
  return { kind: 'conflict', code: 'manager-has-nodes', message, facts: { manager: name, nodes } };
}
