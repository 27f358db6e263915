// Validates a request for instances: flavor, placement, names, networks, quota; and makes the documents for it, ports first. Nothing is placed here.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { findHost, unknownHost } from '../../hosts/index.ts';
import {
  addressKey,
  capabilitiesOf,
  updateCredentialsAlarm,
  attachNicPort,
  PORT,
  quotaProblem,
  resolveNetworks,
  type Port,
  type RequestedNetworks,
  type ResolvedNic,
  type StoredPort,
} from '../../network/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { SITE, unknownSite } from '../../sites/index.ts';
import { traitsProblem, mergeTraits } from '../catalog/flavors.ts';
import { pathOf } from '../gates.ts';
import { unknownGroup } from '../catalog/groups.ts';
import { GROUP, INSTANCE, type Flavor, type Instance } from '../model.ts';

export interface CreateInstances {
  readonly name: string;
  readonly count: number;
  readonly minCount: number;
  /** The request names the minimum; else it is all of them. */
  readonly isMinimumNamed?: boolean;
  readonly flavor: string;
  readonly image?: string | undefined;
  readonly imageProperties?: Instance['imageProperties'] | undefined;
  readonly project: string;
  readonly place: Instance['place'];
  readonly networks: RequestedNetworks;
  readonly securityGroups?: readonly string[] | undefined;
  readonly attemptsMax?: number | undefined;
  readonly operation: OperationId;
  /** Fresh ids for the new ports: enough for every NIC of every instance. */
  readonly portIds: readonly string[];
  readonly by: string;
  readonly why?: string | undefined;
  readonly admin: boolean;
  /** The site that the caller is bound to: hosts of other sites do not exist for it. */
  readonly siteLimit?: string | undefined;
  /** The caller sees only its own project: others' resources, and every host, do not exist for it. */
  readonly isProjectScoped?: boolean;
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly hasCredentials: boolean;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

/** The first try and two more. */
const ATTEMPTS_DEFAULT = 3;

export interface ValidatedRequest {
  readonly names: readonly string[];
  readonly flavor: Flavor;
  readonly nics: readonly ResolvedNic[];
  readonly path: Instance['path'];
  readonly changes: readonly Change[];
  /** What the whole request is decided on. */
  readonly revision: number;
}

/** The names of the instances of a request. */
export function instanceNames({ name, count }: Pick<CreateInstances, 'name' | 'count'>): string[] {
  return count === 1 ? [name] : Array.from({ length: count }, (_, nth) => `${name}-${nth + 1}`);
}

/** The request with everything it names, or its refusal. */
export function validateRequest(
  fleet: FleetReader,
  command: CreateInstances,
  flavor: Flavor,
): ValidatedRequest | Refusal {
  const { name, count, project } = command;
  const names = instanceNames(command);
  const problem = traitsProblem(flavor, command.place) ?? placeProblem(fleet, command) ?? namesProblem(fleet, names);
  if (problem !== undefined) return problem;
  const { networks, admin, by, nowMs, securityGroups } = command;
  const nicsRequest = {
    networks,
    project,
    admin,
    isProjectScoped: command.isProjectScoped === true,
    count,
    instance: name,
    by,
    nowMs,
    securityGroups,
  };
  const resolved = resolveNetworks(fleet, nicsRequest);
  if ('code' in resolved) return resolved;
  const { nics, changes } = resolved;
  const quota = quotaProblem(fleet, project, {
    instances: count,
    vcpus: flavor.vcpus * count,
    memoryMiB: flavor.memoryMiB * count,
    ports: count * nics.filter((nic) => nic.kind === 'new').length,
  });
  if (quota !== undefined) return quota;
  const needsCredentials = nics.some((nic) => capabilitiesOf(fleet, networkOfNic(nic)).needsCredentials);
  const isMissingCredentials = needsCredentials && !command.hasCredentials;
  const first = needsCredentials
    ? [...changes, ...updateCredentialsAlarm(fleet, isMissingCredentials, nowMs)]
    : changes;
  const path = pathOf(fleet, !isMissingCredentials);
  return { names, flavor, nics, path, changes: first, revision: fleet.revision };
}

function networkOfNic(nic: ResolvedNic): string {
  return nic.kind === 'port' ? nic.port.doc.network : nic.network;
}

function placeProblem(
  fleet: FleetReader,
  { place, project, siteLimit, isProjectScoped }: CreateInstances,
): Refusal | undefined {
  const { group, site, onlyHost } = place;
  if (group !== undefined) {
    const stored = fleet.get(GROUP, idOf(GROUP, group))?.doc;
    if (stored === undefined) return unknownGroup(group, '/group');
    if (stored.project !== project)
      return isProjectScoped === true ? unknownGroup(group, '/group') : groupOfOtherProject(group, project);
  }
  if (site !== undefined && fleet.get(SITE, idOf(SITE, site)) === undefined) return unknownSite(site, '/site');
  if (onlyHost === undefined) return undefined;
  const host = findHost(fleet, onlyHost);
  const isThere =
    host !== undefined && isProjectScoped !== true && (siteLimit === undefined || host.doc.site === siteLimit);
  return isThere ? undefined : { ...unknownHost(onlyHost), field: '/host' };
}

function namesProblem(fleet: FleetReader, names: readonly string[]): Refusal | undefined {
  const taken = names.find((name) => fleet.get(INSTANCE, idOf(INSTANCE, name)) !== undefined);
  if (taken === undefined) return undefined;
  const message = `There is an instance "${taken}" already. Choose another name, or delete that one first.`;
  return { kind: 'conflict', code: 'name-taken', message, field: '/name', facts: { instance: taken } };
}

/** One instance of the request. */
export interface RequestedInstance extends ValidatedRequest {
  readonly name: string;
  readonly nth: number;
}

/** Makes earlier decisions of the same request visible to later ones. */
export type StageChanges = (changes: readonly Change[]) => void;

/** The ports of one instance, new or existing. Ports of an instance with one NIC need not be visible to others. */
export function composePorts(
  fleet: FleetReader,
  command: CreateInstances,
  { nics, name, nth: nthInstance, path, revision }: RequestedInstance,
  stage: StageChanges,
): StoredPort[] | Refusal {
  const ports: StoredPort[] = [];
  const taken = listRequestedAddressKeys(nics);
  for (let nic = 0; nic < nics.length; nic += 1) {
    const { project, by, nowMs, securityGroups } = command;
    const nth = nthInstance * nics.length + nic;
    const portId = command.portIds[nth] ?? `${name}-nic${nic}`;
    const of = { instance: name, nic, project, portId, by, nowMs, nth, revision, taken, securityGroups };
    const port = attachNicPort(fleet, nics[nic] as ResolvedNic, of);
    if ('code' in port) return port;
    const doc = path.create === 'conductor' ? port.doc : toIntendedPort(port.doc);
    // The other NICs must not get the address of this one, nor a claim on it.
    const isStaged = nic < nics.length - 1 || (nics.length > 1 && doc.addresses.length > 0);
    if (isStaged) stage([put(PORT, port.id, doc)]);
    ports.push({ id: port.id, revision: 0, doc });
  }
  return ports;
}

/** An address requested by name for one NIC is not picked for another one before it. */
function listRequestedAddressKeys(nics: readonly ResolvedNic[]): ReadonlySet<string> | undefined {
  let taken: Set<string> | undefined;
  for (const nic of nics) {
    if (nic.kind !== 'new') continue;
    for (const { subnet, ip } of nic.fixedIps) (taken ??= new Set()).add(addressKey(subnet, ip));
  }
  return taken;
}

/** A port that an older host creates itself: its document, without the fields that only its creation sets. */
function toIntendedPort(port: Port): Port {
  if (port.createdBy === 'user') return port;
  const addresses = port.addresses.filter(({ chosenBy }) => chosenBy === 'user');
  const ipAllocation = addresses.length === 0 && port.ipAllocation === 'immediate' ? 'deferred' : port.ipAllocation;
  return { ...port, state: 'wanted', addresses, ipAllocation };
}

/** `minimum`: with fewer instances than this the request fails. */
export function composeInstance(
  command: CreateInstances,
  { name, flavor, path }: RequestedInstance,
  ports: readonly StoredPort[],
  minimum: number,
): Instance {
  const { image, imageProperties, place, project, by, nowMs, attemptsMax = ATTEMPTS_DEFAULT } = command;
  const instance: Instance = {
    name,
    project,
    flavor: flavor.name,
    amounts: amountsOf(flavor),
    place: mergeTraits(flavor, place),
    state: 'building',
    nics: ports.map(({ id, doc }) => ({ port: id, network: doc.network })),
    path,
    attempts: [],
    attemptsMax,
    wasActive: false,
    createdBy: by,
    createdAtMs: nowMs,
    changedBy: by,
    changedAtMs: nowMs,
  };
  // Assigned one by one: spreading parts into one object would allocate each again.
  if (image !== undefined) instance.image = image;
  if (imageProperties !== undefined) instance.imageProperties = imageProperties;
  if (minimum > 1) instance.together = { minimum };
  return instance;
}

function amountsOf({ vcpus, memoryMiB, diskGiB, resources }: Flavor): Instance['amounts'] {
  return resources === undefined ? { vcpus, memoryMiB, diskGiB } : { vcpus, memoryMiB, diskGiB, resources };
}

function groupOfOtherProject(group: string, project: string): Refusal {
  const message = `Server group "${group}" belongs to another project than "${project}". Use a group of that project, or create one with "muster groups create".`;
  return { kind: 'forbidden', code: 'group-of-other-project', message, field: '/group', facts: { group, project } };
}
