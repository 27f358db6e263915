// Decides on hosts: join a list of them, edit what operators set, enter and leave maintenance, force-down. Pure: it must never depend on
// time or ids that are not parameters.
import type { Static } from 'typebox';
import { revokeTokenChange, tokensOfHost } from '../access/index.ts';
import { idOf, isId, put, type Change, type FleetReader, type Refusal } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { newOperation, OPEN_ITEMS_BY_TARGET, targetKey, type NewItem, type OperationId } from '../operations/index.ts';
import { SITE, unknownSite } from '../sites/index.ts';
import { findHost, unknownHost } from './find-host.ts';
import { HOST, type Host, type HOST_FACTS } from './model.ts';
import { zonesOfUncleanPeers } from './scale-in/pending-clean-up.ts';
import { recordLeftZones, toLeftZones } from './transport-zone.ts';
import { denyChangedAddress, denyRepeatedAddress, denySharedAddress } from './tunnel-address-check.ts';

export { findHost, siteOfHost, unknownHost, type StoredHost } from './find-host.ts';

type ReportedFacts = { readonly [K in keyof typeof HOST_FACTS]: Static<(typeof HOST_FACTS)[K]> };

/** A host to join: its name and what differs from the defaults. */
export interface HostSpec extends Partial<Omit<ReportedFacts, 'capacity'>> {
  readonly name: string;
  readonly site?: string;
  readonly capacity?: Partial<Omit<ReportedFacts['capacity'], 'ratios'>> & {
    readonly ratios?: Partial<ReportedFacts['capacity']['ratios']>;
  };
}

export interface JoinHosts {
  readonly hosts: readonly HostSpec[];
  readonly operation: OperationId;
  readonly deadlineMs: number;
  readonly by: string;
  /** The site that the caller is bound to, when it is bound to one. */
  readonly callerSite?: string | undefined;
  readonly why?: string;
  readonly nowMs: number;
}

/** The site of hosts that name none. */
const DEFAULT_SITE = 'central';
/** CPUs can be overcommitted; memory and disk cannot. */
const DEFAULT_RATIOS = { vcpus: 4, memory: 1, disk: 1 };

/** Registers hosts as joining and starts the operation that brings them into service. All of them, or none. */
export function joinHosts(fleet: FleetReader, command: JoinHosts): Decision<{ readonly operation: OperationId }> {
  const registered = registerHosts(fleet, command);
  if ('code' in registered) return refuse(registered);
  const { hosts, operation, by, why, nowMs, deadlineMs } = command;
  const changes = newOperation({
    id: operation,
    kind: 'host-join',
    title: hosts.length === 1 ? `join host ${hosts[0]?.name}` : `join ${hosts.length} hosts`,
    by,
    ...(why !== undefined && { why }),
    ...(registered.site !== undefined && { site: registered.site }),
    nowMs,
    deadlineMs,
    items: registered.items,
  });
  return accept([...registered.changes, ...changes], { operation });
}

interface HostRegistration {
  readonly changes: readonly Change[];
  /** The items of the join operation, one per host. */
  readonly items: readonly NewItem[];
  /** The site that all of them have in common, if any. */
  readonly site?: string;
}

/** The documents of joining hosts. A removed host comes back as a new one: nothing of its former life is valid. */
export function registerHosts(
  fleet: FleetReader,
  { hosts, by, callerSite, nowMs }: Pick<JoinHosts, 'hosts' | 'by' | 'callerSite' | 'nowMs'>,
): HostRegistration | Refusal {
  const problem = batchProblem(fleet, hosts) ?? addressProblem(fleet, hosts, callerSite);
  if (problem !== undefined) return problem;
  const sites = new Set(hosts.map((spec) => spec.site ?? DEFAULT_SITE));
  const [site] = sites;
  return {
    changes: hosts.flatMap((spec) => [putNew(fleet, spec, by, nowMs), ...oldTokens(fleet, spec.name, { by, nowMs })]),
    items: hosts.map(({ name }) => ({
      key: name,
      target: { kind: HOST.name, id: name },
      host: name,
      step: 'await-agent',
    })),
    ...(sites.size === 1 && site !== undefined && { site }),
  };
}

function oldTokens(
  fleet: FleetReader,
  host: string,
  { by, nowMs }: { readonly by: string; readonly nowMs: number },
): Change[] {
  if (findHost(fleet, host)?.doc.state !== 'removed') return [];
  const valid = tokensOfHost(fleet, host).filter(({ doc }) => doc.revoked === undefined);
  return valid.map((token) => revokeTokenChange(token, by, nowMs));
}

function putNew(fleet: FleetReader, spec: HostSpec, by: string, nowMs: number): Change {
  const before = findHost(fleet, spec.name)?.doc;
  const { capacity, ...said } = spec;
  const { ratios, ...sizes } = capacity ?? {};
  const host: Host = {
    site: DEFAULT_SITE,
    zone: 'default',
    aggregates: [],
    traits: [],
    physicalNetworks: [],
    baseWeight: 0,
    ...said,
    capacity: { vcpus: 0, memoryMiB: 0, diskGiB: 0, ...sizes, ratios: { ...DEFAULT_RATIOS, ...ratios } },
    state: 'joining',
    connection: { state: 'unknown', sinceMs: nowMs },
    serviceVersion: 0,
    changedBy: by,
    changedAtMs: nowMs,
    ...(before !== undefined && keepFields(before)),
    ...leftZonesOf(fleet, spec),
  };
  return put(HOST, idOf(HOST, spec.name), host);
}

/** Its next removal has to reach the peers that have tunnels to it from before, in whatever zone it is by then. */
function leftZonesOf(fleet: FleetReader, spec: HostSpec): Pick<Host, 'leftZones'> {
  const before = findHost(fleet, spec.name)?.doc;
  if (before === undefined) return {};
  if (before.state !== 'removed') return recordLeftZones(before, spec);
  return toLeftZones(zonesOfUncleanPeers(fleet, spec.name), spec);
}

/** For a host that joins again. Its agent may have joined already and need not do so again, unless the host was removed. */
function keepFields(before: Host): Partial<Host> {
  const { state, readmitted, credential, serviceVersion, switch: identity } = before;
  return {
    ...((state === 'removed' || readmitted === true) && {
      readmitted: true,
      ...(identity !== undefined && { switch: identity }),
    }),
    ...(state !== 'removed' && credential !== undefined && { credential, serviceVersion }),
  };
}

/** What is wrong with a list of hosts: every bad name is reported, not only the first. */
function batchProblem(fleet: FleetReader, hosts: readonly HostSpec[]): Refusal | undefined {
  const names = hosts.map((spec) => spec.name);
  const twice = [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
  if (twice.length > 0) return batchRefusal('duplicate-host', twice);
  const known = names.filter((name) => isId(name) && isTaken(fleet, name));
  if (known.length > 0) return batchRefusal('host-exists', known);
  for (const [at, { site = DEFAULT_SITE }] of hosts.entries()) {
    if (fleet.get(SITE, idOf(SITE, site)) === undefined) return unknownSite(site, `/hosts/${at}/site`);
  }
  return undefined;
}

function addressProblem(fleet: FleetReader, hosts: readonly HostSpec[], callerSite: string | undefined) {
  const repeated = denyRepeatedAddress(hosts);
  if (repeated !== undefined) return repeated;
  for (const [at, { name, tunnelAddress: address }] of hosts.entries()) {
    const request = { host: name, address, field: `/hosts/${at}/tunnelAddress`, callerSite };
    const refusal = denySharedAddress(fleet, request);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** A removed host may join again, and so may one that is joining while no operation does it any more. */
function isTaken(fleet: FleetReader, name: string): boolean {
  const host = findHost(fleet, name);
  if (host === undefined || host.doc.state === 'removed') return false;
  return host.doc.state !== 'joining' || fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(HOST.name, name)) > 0;
}

const BATCH_REFUSALS = {
  'duplicate-host': ['invalid', 'Named more than once', 'Name each host once.'],
  'host-exists': ['conflict', 'Already in the fleet', 'Leave them out; "muster hosts show" shows each.'],
} as const;

function batchRefusal(code: keyof typeof BATCH_REFUSALS, names: readonly string[]): Refusal {
  const [kind, what, advice] = BATCH_REFUSALS[code];
  return {
    kind,
    code,
    message: `${what}: ${names.join(', ')}. Nothing was changed. ${advice}`,
    field: '/hosts',
    facts: { hosts: names },
  };
}

export interface EditHost {
  readonly id: string;
  /** Only the fields to change; null clears one. */
  readonly edit: {
    readonly [K in keyof ReportedFacts]?:
      ReportedFacts[K] | (K extends 'tunnelAddress' | 'transportZone' ? null : never);
  };
  readonly by: string;
  /** The site that the caller is bound to, when it is bound to one. */
  readonly callerSite?: string | undefined;
  readonly nowMs: number;
}

export function editHost(fleet: FleetReader, { id, edit, by, callerSite, nowMs }: EditHost): Decision<Host> {
  const address = { host: id, address: edit.tunnelAddress, field: '/tunnelAddress', callerSite };
  const taken = findHost(fleet, id)?.doc.state === 'removed' ? undefined : denyChangedAddress(fleet, address);
  if (taken !== undefined) return refuse(taken);
  return changeHost(fleet, id, (host) => {
    const { tunnelAddress, transportZone, leftZones: _, ...rest } = { ...host, ...edit };
    const zone = transportZone !== null && transportZone !== undefined ? { transportZone } : {};
    return {
      ...rest,
      ...(tunnelAddress !== null && tunnelAddress !== undefined && { tunnelAddress }),
      ...zone,
      ...recordLeftZones(host, zone),
      changedBy: by,
      changedAtMs: nowMs,
    };
  });
}

export interface AuditedCommand {
  readonly id: string;
  readonly reason: string;
  readonly by: string;
  /** The site that the caller is bound to, when it is bound to one. */
  readonly callerSite?: string | undefined;
  readonly nowMs: number;
}

/** Maintenance: the host gets nothing new. What runs there stays. */
export function disableHost(fleet: FleetReader, { id, reason, by, nowMs }: AuditedCommand): Decision<Host> {
  return changeHost(fleet, id, (host) =>
    host.disabled?.reason === reason
      ? host
      : { ...host, disabled: { reason, by, atMs: nowMs }, changedBy: by, changedAtMs: nowMs },
  );
}

export function enableHost(fleet: FleetReader, { id, by, nowMs }: Omit<AuditedCommand, 'reason'>): Decision<Host> {
  return changeHost(fleet, id, (host) => {
    const { disabled, ...rest } = host;
    return disabled === undefined ? host : { ...rest, changedBy: by, changedAtMs: nowMs };
  });
}

/** Force-down: an operator states that the host is off, whatever heartbeats say. */
export function forceDownHost(fleet: FleetReader, { id, reason, by, nowMs }: AuditedCommand): Decision<Host> {
  return changeHost(fleet, id, (host) =>
    host.forcedDown?.reason === reason
      ? host
      : { ...host, forcedDown: { reason, by, atMs: nowMs }, changedBy: by, changedAtMs: nowMs },
  );
}

export function clearForceDown(fleet: FleetReader, { id, by, nowMs }: Omit<AuditedCommand, 'reason'>): Decision<Host> {
  return changeHost(fleet, id, (host) => {
    const { forcedDown, ...rest } = host;
    if (forcedDown === undefined) return host;
    // Its tenants were rebuilt elsewhere because of that statement. Clearing it does not make the host trusted again.
    const isRebuilt = host.leaving?.rebuilt === true && host.quarantined === undefined;
    const quarantined = isRebuilt && { quarantined: { because: 'operator-fenced' as const, atMs: nowMs } };
    return { ...rest, ...quarantined, changedBy: by, changedAtMs: nowMs };
  });
}

/** Changes one host that is in the fleet. An edit that changes nothing commits nothing. */
function changeHost(fleet: FleetReader, id: string, edit: (host: Host) => Host): Decision<Host> {
  const stored = findHost(fleet, id);
  if (stored === undefined) return refuse(unknownHost(id));
  if (stored.doc.state === 'removed') return refuse(removedHost(id));
  const host = edit(stored.doc);
  return host === stored.doc ? accept([], host) : accept([put(HOST, stored.id, host)], host);
}

export function removedHost(id: string): Refusal {
  const message = `Host "${id}" was removed from the fleet. Join it again first with "muster hosts join ${id}".`;
  return { kind: 'conflict', code: 'host-removed', message, facts: { host: id } };
}
