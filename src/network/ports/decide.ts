// Decides on users' ports: create and edit. How a port gets its addresses is derived from the request and its network; it must never be an
// input.
import { idOf, put, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { pickInitialAddresses, ipAllocationOf, portDefaultsOf, allocateMac } from './attach.ts';
import { isReservedMac, portsWithMac } from '../addresses/mac.ts';
import { DEFAULT_PROJECT, PORT, type Network, type Port } from '../model.ts';
import { resolveRequestedAddresses, type RequestedPortAddress } from './requested-addresses.ts';
import { portQuotaProblem } from '../quotas/quota.ts';
import { conflict, invalid, isRefusal, unknownResource } from '../refusal.ts';
import { securityGroupsWithoutPortSecurity, networkAccessProblem } from '../networks/resolve.ts';
import { findNetwork, topologyOf, type StoredNetwork } from '../networks/topology.ts';

export interface CreatePort {
  readonly id: string;
  readonly network: string;
  readonly project?: string;
  readonly name?: string;
  readonly mac?: string;
  /** Requested addresses or subnets; an empty list for a port that never has an address. */
  readonly fixedIps?: readonly RequestedPortAddress[];
  readonly portSecurity?: boolean;
  readonly securityGroups?: readonly string[];
  readonly qosPolicy?: string;
  readonly minBandwidthKbps?: number;
  readonly pciRequest?: string;
  readonly dnsName?: string;
  readonly admin: boolean;
  /** The caller sees its own project alone: what others have does not exist for it. */
  readonly isProjectScoped?: boolean;
  readonly by: string;
  readonly nowMs: number;
}

export function createPort(fleet: FleetReader, command: CreatePort): Decision<{ readonly id: string }> {
  const { project = DEFAULT_PROJECT, admin, isProjectScoped = false } = command;
  const network = findNetwork(fleet, command.network);
  if (network === undefined) return refuse(unknownResource('network', command.network, '/network'));
  const problem =
    networkAccessProblem(network, { project, admin, isProjectScoped }, '/network') ??
    securityProblem(network, command) ??
    macProblem(fleet, command) ??
    portQuotaProblem(fleet, project, 1);
  if (problem !== undefined) return refuse(problem);
  const allocation = resolveAddresses(fleet, network, command);
  if (isRefusal(allocation)) return refuse(allocation);
  const id = idOf(PORT, command.id);
  return accept([put(PORT, id, composeUserPort(fleet, network, command, allocation))], { id });
}

function composeUserPort(
  fleet: FleetReader,
  { id, doc: network }: StoredNetwork,
  command: CreatePort,
  allocation: Pick<Port, 'ipAllocation' | 'addresses'>,
): Port {
  const { project = DEFAULT_PROJECT, securityGroups = [], by, nowMs, mac = allocateMac(fleet, 0) } = command;
  const { name, portSecurity, qosPolicy, minBandwidthKbps, pciRequest, dnsName } = command;
  return {
    ...(name !== undefined && { name }),
    network: id,
    project,
    createdBy: 'user',
    state: network.backEnd === 'embedded' ? 'made' : 'wanted',
    mac,
    ...allocation,
    serial: 0,
    ...portDefaultsOf(network),
    ...(portSecurity !== undefined && { portSecurity }),
    securityGroups: [...securityGroups],
    ...(qosPolicy !== undefined && { qosPolicy }),
    ...(minBandwidthKbps !== undefined && { minBandwidthKbps }),
    ...(pciRequest !== undefined && { pciRequest }),
    ...(dnsName !== undefined && { dnsName }),
    changedBy: by,
    changedAtMs: nowMs,
  };
}

/** The addresses that the port holds from the start, and how it gets the rest. */
function resolveAddresses(
  fleet: FleetReader,
  { id, doc }: StoredNetwork,
  { fixedIps }: CreatePort,
): Pick<Port, 'ipAllocation' | 'addresses'> | Refusal {
  if (fixedIps?.length === 0) return { ipAllocation: 'none', addresses: [] };
  if (!topologyOf(fleet).hasSubnets(id)) return networkWithoutSubnet(id);
  const addresses =
    fixedIps === undefined ? pickInitialAddresses(fleet, id, doc) : resolveRequestedAddresses(fleet, id, fixedIps);
  if (isRefusal(addresses)) return addresses;
  return {
    ipAllocation: ipAllocationOf(fleet, id, doc, fixedIps !== undefined),
    addresses: [...addresses],
  };
}

function networkWithoutSubnet(network: string): Refusal {
  const message = `Network "${network}" has no subnet, so the port would get no address. Create a subnet first, or request none with an empty list.`;
  return invalid('network-without-subnet', message, { field: '/network', facts: { network } });
}

function securityProblem(
  { id, doc }: { readonly id: string; readonly doc: Pick<Network, 'portSecurity'> },
  { portSecurity = doc.portSecurity, securityGroups = [] }: Pick<CreatePort, 'portSecurity' | 'securityGroups'>,
): Refusal | undefined {
  return portSecurity || securityGroups.length === 0
    ? undefined
    : securityGroupsWithoutPortSecurity(id, '/securityGroups');
}

/** The lowest bit of the first octet. */
const MULTICAST = /^.[13579bdf]/;

function macProblem(fleet: FleetReader, { network, mac }: CreatePort): Refusal | undefined {
  const field = '/mac';
  if (mac === undefined) return undefined;
  if (MULTICAST.test(mac)) {
    const message = `${mac} is a group address. Choose an address with an even first octet, or leave it out.`;
    return invalid('mac-multicast', message, { field, facts: { mac } });
  }
  if (isReservedMac(mac)) {
    const message = `${mac} is one of those that Muster gives out itself (02, 06, 0a, 0e). Choose another first octet, or leave it out.`;
    return invalid('mac-reserved', message, { field, facts: { mac } });
  }
  const [other] = portsWithMac(fleet, network, mac);
  if (other === undefined) return undefined;
  const message = `Port "${other}" of the same network has the MAC address ${mac}. Choose another, or leave it out.`;
  return conflict('mac-in-use', message, { field, facts: { mac, port: other } });
}

export interface EditPort {
  readonly id: string;
  /** Only the fields to change; null clears one. */
  readonly edit: {
    readonly name?: string | null;
    readonly securityGroups?: readonly string[];
    readonly qosPolicy?: string | null;
    readonly dnsName?: string | null;
  };
  readonly by: string;
  readonly nowMs: number;
}

export function editPort(fleet: FleetReader, { id, edit, by, nowMs }: EditPort): Decision<{ readonly id: string }> {
  const stored = fleet.get(PORT, idOf(PORT, id));
  if (stored === undefined) return refuse(unknownResource('port', id));
  if (stored.doc.state === 'releasing') return refuse(portReleasing(id));
  const { name, qosPolicy, dnsName, securityGroups, ...rest } = { ...stored.doc, ...edit };
  const port: Port = {
    ...rest,
    securityGroups: [...securityGroups],
    ...(typeof name === 'string' && { name }),
    ...(typeof qosPolicy === 'string' && { qosPolicy }),
    ...(typeof dnsName === 'string' && { dnsName }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  const problem = securityProblem({ id: port.network, doc: port }, { securityGroups }) ?? dnsProblem(stored.id, port);
  return problem === undefined ? accept([put(PORT, stored.id, port)], { id }) : refuse(problem);
}

/** The DNS name of an attached port is its instance's. */
function dnsProblem(id: string, { instance, dnsName }: Port): Refusal | undefined {
  if (instance === undefined || dnsName === undefined || dnsName === instance) return undefined;
  const message = `Port "${id}" is attached to instance "${instance}", so that is its DNS name. Leave it out, or use that.`;
  return invalid('dns-name-mismatch', message, { field: '/dnsName', facts: { port: id, instance, dnsName } });
}

export function portReleasing(id: string): Refusal {
  return conflict('port-releasing', `Port "${id}" is being deleted. Use another port.`, { facts: { port: id } });
}
