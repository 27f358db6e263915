// What a request for instances asks for, understood and checked: flavor, place, names, networks, quota. And the documents
// that come of it, ports first. Nothing is placed here.
import { idOf, put, type Change, type FleetReader, type Refusal, type Trial } from '../fleet/index.ts';
import { findHost, unknownHost } from '../hosts/index.ts';
import {
  addressKey,
  credentialsMissing,
  missingCredentialsAlarm,
  NETWORK,
  nicPort,
  PORT,
  quotaRefusal,
  resolveNetworks,
  type BackEndName,
  type Port,
  type RequestedNetworks,
  type ResolvedNic,
  type StoredPort,
} from '../network/index.ts';
import type { OperationId } from '../operations/index.ts';
import { SITE, unknownSite } from '../sites/index.ts';
import { traitsOf, traitsProblem, unknownFlavor } from './flavors.ts';
import { pathOf } from './gates.ts';
import { unknownGroup } from './groups.ts';
import { FLAVOR, GROUP, INSTANCE, type Flavor, type Instance } from './model.ts';

export interface CreateInstances {
  readonly name: string;
  readonly count: number;
  readonly minCount: number;
  readonly flavor: string;
  readonly image?: string;
  readonly project: string;
  readonly place: Instance['place'];
  readonly networks: RequestedNetworks;
  readonly securityGroups?: readonly string[];
  readonly attemptsMax?: number;
  readonly operation: OperationId;
  /** Fresh ids for the ports that are to be made: enough for every NIC of every instance. */
  readonly portIds: readonly string[];
  readonly by: string;
  readonly why?: string;
  readonly admin: boolean;
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly credentials: boolean;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

/** The first try and two more. */
const ATTEMPTS_DEFAULT = 3;

export interface Asked {
  readonly names: readonly string[];
  readonly flavor: Flavor;
  readonly nics: readonly ResolvedNic[];
  readonly path: Instance['path'];
  readonly changes: readonly Change[];
  /** What the whole request is decided on. */
  readonly revision: number;
}

/** The request with everything it names, or what is wrong with it. */
export function understood(fleet: FleetReader, command: CreateInstances): Asked | Refusal {
  const { name, count, project } = command;
  const flavor = fleet.get(FLAVOR, idOf(FLAVOR, command.flavor))?.doc;
  if (flavor === undefined) return unknownFlavor(command.flavor, '/flavor');
  const names = count === 1 ? [name] : Array.from({ length: count }, (_, nth) => `${name}-${nth + 1}`);
  const problem = traitsProblem(flavor, command.place) ?? placeProblem(fleet, command) ?? namesProblem(fleet, names);
  if (problem !== undefined) return problem;
  const { networks, admin, by, nowMs } = command;
  const ask = { networks, project, admin, count, instance: name, by, nowMs };
  const { securityGroups } = command;
  const resolved = resolveNetworks(fleet, { ...ask, ...(securityGroups !== undefined && { securityGroups }) });
  if ('code' in resolved) return resolved;
  const { nics, changes } = resolved;
  const quota = quotaRefusal(fleet, project, {
    instances: count,
    vcpus: flavor.vcpus * count,
    memoryMiB: flavor.memoryMiB * count,
    ports: count * nics.filter((nic) => nic.kind === 'new').length,
  });
  if (quota !== undefined) return quota;
  const backEnds = backEndsOf(fleet, nics);
  const lacking = credentialsMissing(backEnds, command.credentials);
  const asks = credentialsMissing(backEnds, false);
  const alarm = asks ? missingCredentialsAlarm(fleet, lacking, nowMs) : [];
  const path = pathOf(fleet, !lacking);
  return { names, flavor, nics, path, changes: [...changes, ...alarm], revision: fleet.revision };
}

function backEndsOf(fleet: FleetReader, nics: readonly ResolvedNic[]): BackEndName[] {
  return nics.flatMap((nic) => {
    const network = nic.kind === 'port' ? nic.port.doc.network : nic.network;
    return fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? [];
  });
}

function placeProblem(fleet: FleetReader, { place, project }: CreateInstances): Refusal | undefined {
  const { group, site, onlyHost } = place;
  if (group !== undefined) {
    const stored = fleet.get(GROUP, idOf(GROUP, group))?.doc;
    if (stored === undefined) return unknownGroup(group, '/group');
    if (stored.project !== project) return groupOfOther(group, project);
  }
  if (site !== undefined && fleet.get(SITE, idOf(SITE, site)) === undefined) return unknownSite(site, '/site');
  if (onlyHost !== undefined && findHost(fleet, onlyHost) === undefined)
    return { ...unknownHost(onlyHost), field: '/host' };
  return undefined;
}

function namesProblem(fleet: FleetReader, names: readonly string[]): Refusal | undefined {
  const taken = names.find((name) => fleet.get(INSTANCE, idOf(INSTANCE, name)) !== undefined);
  if (taken === undefined) return undefined;
  const message = `There is an instance "${taken}" already. Choose another name, or delete that one first.`;
  return { kind: 'conflict', code: 'name-taken', message, field: '/name', facts: { instance: taken } };
}

/** One instance of the request. */
export interface One extends Asked {
  readonly name: string;
  readonly nth: number;
}

/** The ports of one instance, made for it or taken as they are. */
export function portsFor(
  trial: Trial,
  command: CreateInstances,
  { nics, name, nth, path, revision }: One,
): StoredPort[] | Refusal {
  const ports: StoredPort[] = [];
  // What one NIC asks for by name is not picked for another one before it.
  const taken = new Set(nics.flatMap((nic) => (nic.kind === 'new' ? nic.fixedIps.map(keyOf) : [])));
  for (const [nic, resolved] of nics.entries()) {
    const { project, by, nowMs, securityGroups } = command;
    const portId = command.portIds[nth * nics.length + nic] ?? `${name}-nic${nic}`;
    const of = { instance: name, nic, project, portId, by, nowMs, nth: nth * nics.length + nic, revision, taken };
    const port = nicPort(trial, resolved, { ...of, ...(securityGroups !== undefined && { securityGroups }) });
    if ('code' in port) return port;
    const doc = path.create === 'conductor' ? port.doc : intended(port.doc);
    // The other NICs must not be given what this one has, nor be promised it.
    const isSeen = nic < nics.length - 1 || (nics.length > 1 && doc.addresses.length > 0);
    if (isSeen) trial.add([put(PORT, port.id, doc)]);
    ports.push({ id: port.id, revision: 0, doc });
  }
  return ports;
}

function keyOf({ subnet, ip }: { readonly subnet: string; readonly ip: string }): string {
  return addressKey(subnet, ip);
}

/** A port that an older host makes for itself: what it will be, without what only its making gives it. */
function intended(port: Port): Port {
  if (port.createdBy === 'user') return port;
  const addresses = port.addresses.filter(({ chosenBy }) => chosenBy === 'user');
  const ipAllocation = addresses.length === 0 && port.ipAllocation === 'immediate' ? 'deferred' : port.ipAllocation;
  return { ...port, state: 'wanted', addresses, ipAllocation };
}

export function newInstance(
  command: CreateInstances,
  { name, flavor, path }: One,
  ports: readonly StoredPort[],
): Instance {
  const { image, place, project, by, nowMs, minCount, attemptsMax = ATTEMPTS_DEFAULT } = command;
  const { vcpus, memoryMiB, diskGiB, resources } = flavor;
  return {
    name,
    project,
    flavor: flavor.name,
    amounts: { vcpus, memoryMiB, diskGiB, ...(resources !== undefined && { resources }) },
    ...(image !== undefined && { image }),
    place: { ...place, ...traitsOf(flavor, place) },
    state: 'building',
    nics: ports.map(({ id, doc }) => ({ port: id, network: doc.network })),
    path,
    ...(minCount > 1 && { together: { minimum: minCount } }),
    attempts: [],
    attemptsMax,
    wasActive: false,
    createdBy: by,
    createdAtMs: nowMs,
    changedBy: by,
    changedAtMs: nowMs,
  };
}

function groupOfOther(group: string, project: string): Refusal {
  const message = `Server group "${group}" belongs to another project than "${project}".`;
  return { kind: 'forbidden', code: 'group-of-other-project', message, field: '/group', facts: { group, project } };
}
