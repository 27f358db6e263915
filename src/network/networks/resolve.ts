// Resolves a request for an instance's networks: which existing ports are used, and which ports are created on which network. Everything that is
// wrong with the request is refused here, before anything is created.
import { Type, type Static } from 'typebox';
import { idOf, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { resolveRequestedAddress, type AllocatedAddress } from '../addresses/allocation.ts';
import { composeDefaultTopology } from './default-topology.ts';
import { IP, NETWORKS_BY_USER, PORT, SHARED, type NetworkId, type Port } from '../model.ts';
import { portUserProblem } from '../ports/port-user.ts';
import { conflict, forbid, invalid, isRefusal, unknownResource } from '../refusal.ts';
import { addressKey } from '../addresses/subnet-stock.ts';
import { findNetwork, topologyOf, type StoredNetwork, type StoredPort } from './topology.ts';

/** More NICs than any hypervisor supports. */
const NICS_MAX = 32;

const REFERENCE = Type.String({ minLength: 1, maxLength: 200 });

/** One schema for both forms: fields that exclude each other are refused by name. */
const REQUESTED_NIC = Type.Object(
  {
    network: Type.Optional(REFERENCE),
    port: Type.Optional(REFERENCE),
    fixedIp: Type.Optional(IP),
    tag: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  },
  { additionalProperties: false },
);
type RequestedNic = Static<typeof REQUESTED_NIC>;

export const REQUESTED_NETWORKS = Type.Union([
  Type.Literal('auto'),
  Type.Literal('none'),
  Type.Array(REQUESTED_NIC, {
    description: `in NIC order, at most ${NICS_MAX}; a network may be listed twice`,
  }),
]);
export type RequestedNetworks = Static<typeof REQUESTED_NETWORKS>;

export interface NicsRequest {
  readonly networks: RequestedNetworks;
  readonly project: string;
  readonly admin: boolean;
  /** The caller sees its own project alone: what others have does not exist for it. */
  readonly isProjectScoped?: boolean;
  readonly count: number;
  readonly securityGroups?: readonly string[] | undefined;
  /** The name of the first one. */
  readonly instance: string;
  /** Its id, when it differs from the name: a port that is attached to it already is accepted. */
  readonly instanceId?: string;
  /** The creator of the network that `auto` may build. */
  readonly by: string;
  readonly nowMs: number;
}

export type ResolvedNic =
  | { readonly kind: 'port'; readonly port: StoredPort; readonly tag?: string }
  | {
      readonly kind: 'new';
      readonly network: NetworkId;
      readonly fixedIps: readonly AllocatedAddress[];
      readonly tag?: string;
    };

export interface ResolvedNetworks {
  readonly nics: readonly ResolvedNic[];
  /** What is created first: `auto` builds a network for a project that has none. */
  readonly changes: readonly Change[];
}

/** The quota is checked by the caller, which knows what else it creates. */
export function resolveNetworks(fleet: FleetReader, request: NicsRequest): ResolvedNetworks | Refusal {
  const { networks } = request;
  if (networks === 'none') return { nics: [], changes: [] };
  if (networks.length > NICS_MAX && networks !== 'auto') return tooManyNics(networks.length);
  return networks === 'auto' ? resolveAuto(fleet, request) : resolveList(fleet, networks, request);
}

function tooManyNics(requested: number): Refusal {
  const message = `The request has ${requested} NICs, and an instance has ${NICS_MAX} at most. Request fewer.`;
  return invalid('too-many-nics', message, { field: '/networks', facts: { requested, most: NICS_MAX } });
}

/** This many names show that there is a choice. */
const NAMES_LISTED_MAX = 10;

function resolveAuto(fleet: FleetReader, request: NicsRequest): ResolvedNetworks | Refusal {
  const usable = usableNetworks(fleet, request.project);
  const [only, ...more] = usable;
  if (more.length > 0) {
    const names = usable.map(({ id }) => id);
    const many = names.length < NAMES_LISTED_MAX ? names.length : `${NAMES_LISTED_MAX} or more`;
    const message = `"auto" needs exactly one network that project "${request.project}" may use, and there are ${many}: ${names.join(', ')}. Name one of them.`;
    return conflict('auto-ambiguous', message, { field: '/networks', facts: { networks: names } });
  }
  if (only === undefined) {
    const made = composeDefaultTopology(fleet, request);
    return isRefusal(made)
      ? made
      : { nics: [{ kind: 'new', network: made.network, fixedIps: [] }], changes: made.changes };
  }
  return (
    portSecurityProblem(only, request, '/networks') ?? {
      nics: [{ kind: 'new', network: only.id, fixedIps: [] }],
      changes: [],
    }
  );
}

/** The project's own networks and the shared ones that are not external and have a subnet. */
function usableNetworks(fleet: FleetReader, project: string): StoredNetwork[] {
  const found = new Map<string, StoredNetwork>();
  const topology = topologyOf(fleet);
  for (const key of [project, SHARED]) {
    for (const network of fleet.find(NETWORKS_BY_USER, key)) {
      if (!network.doc.external && topology.hasSubnets(network.id)) found.set(network.id, network);
      if (found.size === NAMES_LISTED_MAX) return [...found.values()];
    }
  }
  return [...found.values()];
}

function resolveList(
  fleet: FleetReader,
  list: readonly RequestedNic[],
  request: NicsRequest,
): ResolvedNetworks | Refusal {
  const nics: ResolvedNic[] = [];
  // There are few NICs: scanning a list is faster than building a set.
  const seen: SeenNics = { ports: [], addresses: undefined, tags: [] };
  for (let at = 0; at < list.length; at += 1) {
    const wanted = list[at] as RequestedNic;
    const field = `/networks/${at}`;
    const problem = nicFormProblem(wanted, request, field) ?? duplicateNicProblem(wanted, seen, field);
    if (problem !== undefined) return problem;
    const nic =
      wanted.port === undefined
        ? resolveNewPort(fleet, wanted, { request, field, taken: seen.addresses })
        : resolveExistingPort(fleet, wanted.port, { request, field });
    if (isRefusal(nic)) return nic;
    if (nic.kind === 'new') {
      for (const { subnet, ip } of nic.fixedIps) (seen.addresses ??= new Set()).add(addressKey(subnet, ip));
    }
    nics.push(wanted.tag === undefined ? nic : { ...nic, tag: wanted.tag });
  }
  return { nics, changes: [] };
}

/** Errors of one entry that do not depend on the fleet. */
function nicFormProblem(
  { network, port, fixedIp }: RequestedNic,
  { count }: NicsRequest,
  field: string,
): Refusal | undefined {
  if (network === undefined && port === undefined) {
    return invalid('network-or-port-required', 'A NIC needs a network, or an existing port. Name one.', { field });
  }
  if (port === undefined) {
    if (fixedIp === undefined || count === 1) return undefined;
    const message = `One address cannot go to ${count} instances. Request one instance, or leave the address out.`;
    return invalid('count-with-fixed-ip', message, { field: `${field}/fixedIp` });
  }
  if (network !== undefined) {
    const message = 'A port is on its network already. Name the port or the network, not both.';
    return invalid('network-and-port', message, { field });
  }
  if (fixedIp !== undefined) {
    const message =
      'A port has its addresses already. Leave the address out, or request a network instead of the port.';
    return invalid('port-and-fixed-ip', message, { field: `${field}/fixedIp` });
  }
  if (count === 1) return undefined;
  const message = `One port cannot be attached to ${count} instances. Request one instance, or for a network.`;
  return invalid('count-with-port', message, { field: `${field}/port` });
}

interface SeenNics {
  readonly ports: string[];
  addresses: Set<string> | undefined;
  readonly tags: string[];
}

/** Values that may be in a request only once. */
function duplicateNicProblem({ port, tag }: RequestedNic, seen: SeenNics, field: string): Refusal | undefined {
  if (port !== undefined && seen.ports.includes(port)) {
    const message = `Port "${port}" is in the request twice. A port is one NIC: name each port once.`;
    return invalid('port-twice', message, { field: `${field}/port`, facts: { port } });
  }
  if (tag !== undefined && seen.tags.includes(tag)) {
    const message = `The tag "${tag}" is in the request twice. Tags tell the NICs of an instance apart: give each another.`;
    return invalid('tag-twice', message, { field: `${field}/tag`, facts: { tag } });
  }
  if (port !== undefined) seen.ports.push(port);
  if (tag !== undefined) seen.tags.push(tag);
  return undefined;
}

interface NicField {
  readonly request: NicsRequest;
  readonly field: string;
}

function resolveNewPort(
  fleet: FleetReader,
  { network: id = '', fixedIp }: RequestedNic,
  { request: ask, field, taken }: NicField & { readonly taken: ReadonlySet<string> | undefined },
): ResolvedNic | Refusal {
  const network = findNetwork(fleet, id);
  if (network === undefined) return unknownResource('network', id, `${field}/network`);
  const problem =
    networkProblem(fleet, network, { request: ask, field }) ?? portSecurityProblem(network, ask, `${field}/network`);
  if (problem !== undefined) return problem;
  if (fixedIp === undefined) return { kind: 'new', network: network.id, fixedIps: [] };
  const address = resolveRequestedAddress(fleet, { network: id, ip: fixedIp, field: `${field}/fixedIp`, taken });
  return isRefusal(address) ? address : { kind: 'new', network: network.id, fixedIps: [address] };
}

function networkProblem(
  fleet: FleetReader,
  network: StoredNetwork,
  { request: ask, field }: NicField,
): Refusal | undefined {
  const problem = networkAccessProblem(network, ask, `${field}/network`);
  if (problem !== undefined || topologyOf(fleet).hasSubnets(network.id)) return problem;
  const message = `Network "${network.id}" has no subnet, so an instance would get no address. Create a subnet on it first.`;
  return invalid('network-without-subnet', message, { field: `${field}/network`, facts: { network: network.id } });
}

/** Whether a caller may put ports on a network. */
export function networkAccessProblem(
  { id, doc }: StoredNetwork,
  user: { readonly project: string; readonly admin: boolean; readonly isProjectScoped?: boolean },
  field: string,
): Refusal | undefined {
  if (user.admin || doc.shared || (doc.project === user.project && !doc.external)) return undefined;
  if (user.isProjectScoped === true && doc.project !== user.project) return unknownResource('network', id, field);
  const why = doc.external
    ? 'leads outside and is not shared'
    : `belongs to project "${doc.project}" and is not shared`;
  const message = `Network "${id}" ${why}. Use another network, or ask an administrator.`;
  return forbid('network-not-allowed', message, { field, facts: { network: id } });
}

function portSecurityProblem({ id, doc }: StoredNetwork, request: NicsRequest, field: string): Refusal | undefined {
  if (doc.portSecurity || request.securityGroups === undefined || request.securityGroups.length === 0) return undefined;
  return securityGroupsWithoutPortSecurity(id, field);
}

export function securityGroupsWithoutPortSecurity(network: string, field: string): Refusal {
  const message = `Port security is off on network "${network}", so security groups would do nothing there. Leave them out, or use another network.`;
  return invalid('security-groups-without-port-security', message, { field, facts: { network } });
}

function resolveExistingPort(
  fleet: FleetReader,
  id: string,
  { request: ask, field: at }: NicField,
): ResolvedNic | Refusal {
  const field = `${at}/port`;
  const port = fleet.get(PORT, idOf(PORT, id));
  if (port === undefined) return unknownResource('port', id, field);
  return portProblem(port, ask, field) ?? { kind: 'port', port };
}

function portProblem({ id, doc }: StoredPort, request: NicsRequest, field: string): Refusal | undefined {
  const facts = { port: id };
  if (doc.project !== request.project) {
    if (request.isProjectScoped === true) return unknownResource('port', id, field);
    const message = `Port "${id}" belongs to project "${doc.project}", not to "${request.project}". Use a port of the same project.`;
    return forbid('port-of-other-project', message, { field, facts });
  }
  const used = portUserProblem({ id, doc }, field);
  if (used !== undefined) return used;
  if (doc.instance !== undefined && doc.instance !== (request.instanceId ?? request.instance)) {
    const message = `Port "${id}" is attached to "${doc.instance}". Delete that instance first, or use another port.`;
    return conflict('port-in-use', message, { field, facts: { ...facts, instance: doc.instance } });
  }
  if (doc.state === 'releasing') {
    return conflict('port-releasing', `Port "${id}" is being deleted. Use another port.`, { field, facts });
  }
  if (isMissingAddress(doc)) {
    const message = `Port "${id}" should have an address and has none. Delete it and create another.`;
    return invalid('port-without-address', message, { field, facts });
  }
  if (doc.dnsName === undefined || doc.dnsName === request.instance) return undefined;
  const message = `Port "${id}" has the DNS name "${doc.dnsName}", the instance is called "${request.instance}". Change one of them.`;
  return invalid('dns-name-mismatch', message, { field, facts: { ...facts, dnsName: doc.dnsName } });
}

/** A back end outside the journal picks the address of a port that it has not created yet. */
function isMissingAddress({ ipAllocation, addresses, state }: Port): boolean {
  return ipAllocation === 'immediate' && addresses.length === 0 && state !== 'wanted';
}
