// Decides on subnets: create, edit and delete. A network is routed throughout or not at all; held or claimed addresses must never be taken
// away.
import { idOf, runTrial, put, remove, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { cidrOf, addressInUse } from '../addresses/allocation.ts';
import { nameTaken } from './decide.ts';
import { canonicalIp, formatCidr, overlaps, parseCidr, type IpVersion } from '../addresses/ip.ts';
import { SUBNET, type Subnet } from '../model.ts';
import { conflict, invalid, isRefusal, unknownResource } from '../refusal.ts';
import { ROUTERS_BY_SUBNET } from '../routers/model.ts';
import { externalOverlapProblem } from '../routers/subnets.ts';
import { stockOf } from '../addresses/stock.ts';
import { cidrProblem, resolveSubnetForm, type RequestedSubnetForm } from './subnet-form.ts';
import { conversionProblem, segmentProblem } from './subnet-segment.ts';
import { findNetwork, poolOf, topologyOf, type StoredSubnet } from './topology.ts';

export interface CreateSubnet extends RequestedSubnetForm {
  readonly name: string;
  readonly network: string;
  readonly segment?: string;
  readonly cidr: string;
  readonly dhcp?: boolean;
  readonly by: string;
  readonly nowMs: number;
}

export function createSubnet(fleet: FleetReader, command: CreateSubnet): Decision<Subnet> {
  const { name, network, segment, dhcp = false, by, nowMs } = command;
  const id = idOf(SUBNET, name);
  if (fleet.get(SUBNET, id) !== undefined) return refuse(nameTaken('subnet', name));
  if (findNetwork(fleet, network) === undefined) return refuse(unknownResource('network', network, '/network'));
  const cidr = parseCidr(command.cidr);
  if (cidr === undefined) return refuse(cidrProblem(command.cidr));
  const form = resolveSubnetForm(cidr, command);
  if (isRefusal(form)) return refuse(form);
  const problem =
    overlapProblem(fleet, network, formatCidr(cidr)) ??
    externalOverlapProblem(fleet, network, formatCidr(cidr)) ??
    segmentProblem(fleet, network, segment) ??
    dhcpProblem(name, cidr.version, dhcp);
  if (problem !== undefined) return refuse(problem);
  const subnet: Subnet = {
    name,
    network,
    ...(segment !== undefined && { segment }),
    cidr: formatCidr(cidr),
    version: cidr.version,
    ...form,
    ...(dhcp && { dhcp }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  return accept([put(SUBNET, id, subnet)], subnet);
}

function dhcpProblem(name: string, version: IpVersion, dhcp: boolean): Refusal | undefined {
  if (!dhcp || version === 4) return undefined;
  const message = `Subnet "${name}" is IPv${version}, and DHCP is answered in IPv4 subnets only. Leave it off.`;
  return invalid('dhcp-needs-ipv4', message, { field: '/dhcp', facts: { subnet: name } });
}

/** Networks are isolated; within one an address is unique. */
function overlapProblem(fleet: FleetReader, network: string, cidr: string): Refusal | undefined {
  const other = topologyOf(fleet)
    .subnetsOf(network)
    .find(({ doc }) => overlaps(cidrOf(doc.cidr), cidrOf(cidr)));
  if (other === undefined) return undefined;
  const message = `${cidr} overlaps with ${other.doc.cidr} of subnet "${other.id}" on the same network. Choose another range.`;
  return conflict('cidr-overlaps', message, { field: '/cidr', facts: { subnet: other.id, cidr: other.doc.cidr } });
}

export interface EditSubnet {
  readonly id: string;
  /** Only the fields to change. `gateway: null` removes it; a segment is set once. */
  readonly edit: RequestedSubnetForm & { readonly segment?: string; readonly dhcp?: boolean };
  readonly by: string;
  readonly nowMs: number;
}

export function editSubnet(fleet: FleetReader, { id, edit, by, nowMs }: EditSubnet): Decision<Subnet> {
  const stored = findSubnet(fleet, id);
  if (stored === undefined) return refuse(unknownResource('subnet', id));
  const { gateway: before, dhcp: dhcpBefore = false, ...rest } = stored.doc;
  const requestedForm: RequestedSubnetForm = {
    gateway: edit.gateway === undefined ? (before ?? null) : edit.gateway,
    pools: edit.pools ?? stored.doc.pools,
  };
  const form = resolveSubnetForm(cidrOf(stored.doc.cidr), requestedForm);
  if (isRefusal(form)) return refuse(form);
  const { segment = stored.doc.segment, dhcp = dhcpBefore } = edit;
  const subnet: Subnet = {
    ...rest,
    ...form,
    ...(segment !== undefined && { segment }),
    ...(dhcp && { dhcp }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  const problem =
    dhcpProblem(id, stored.doc.version, dhcp) ??
    routerProblem(fleet, stored, subnet) ??
    (segment === stored.doc.segment ? undefined : conversionProblem(fleet, stored, segment)) ??
    gatewayProblem(fleet, stored, subnet) ??
    claimedAddressesProblem(fleet, stored, subnet);
  return problem === undefined ? accept([put(SUBNET, stored.id, subnet)], subnet) : refuse(problem);
}

/** The gateway of a subnet behind a router is the router: it may change, but must not be removed. */
function routerProblem(fleet: FleetReader, stored: StoredSubnet, { gateway }: Subnet): Refusal | undefined {
  return gateway === undefined ? behindRouterProblem(fleet, stored.id, 'it keeps a gateway', '/gateway') : undefined;
}

function behindRouterProblem(fleet: FleetReader, subnet: string, so: string, field?: string): Refusal | undefined {
  for (const { id: router } of fleet.find(ROUTERS_BY_SUBNET, subnet)) {
    const message = `Subnet "${subnet}" is behind router "${router}", so ${so}. Remove it from there first: muster routers edit ${router} --remove-subnet ${subnet}`;
    return conflict('subnet-behind-router', message, { field, facts: { subnet, router } });
  }
  return undefined;
}

function gatewayProblem(fleet: FleetReader, stored: StoredSubnet, { gateway }: Subnet): Refusal | undefined {
  if (gateway === undefined || gateway === stored.doc.gateway) return undefined;
  const holder = stockOf(fleet).holderOf(stored.id, gateway);
  return holder === undefined ? undefined : addressInUse(canonicalIp(gateway) ?? gateway, holder, '/gateway');
}

/** Whether the pool still has what is claimed of it when a subnet changes or is deleted. */
function claimedAddressesProblem(
  fleet: FleetReader,
  stored: StoredSubnet,
  after: Subnet | undefined,
): Refusal | undefined {
  const [pool, { version }] = [poolOf(stored.doc), stored.doc];
  const left = runTrial(fleet, (trial) => {
    trial.add([after === undefined ? remove(SUBNET, stored.id) : put(SUBNET, stored.id, after)]);
    return stockOf(trial).figures(pool, version);
  });
  if (left.free >= 0n) return undefined;
  const message = `${left.claimed} addresses of subnet "${stored.id}" are claimed by instances that are being built. Wait until they are built, or leave enough addresses for them.`;
  return conflict('addresses-promised', message, {
    facts: { subnet: stored.id, pool, promised: String(left.claimed) },
  });
}

export function deleteSubnet(fleet: FleetReader, { id }: { readonly id: string }): Decision<StoredSubnet> {
  const stored = findSubnet(fleet, id);
  if (stored === undefined) return refuse(unknownResource('subnet', id));
  const held = stockOf(fleet).heldCountOf(id);
  if (held > 0) {
    const have = held === 1 ? 'A port still has an address' : `Ports still have ${held} addresses`;
    const message = `${have} of subnet "${id}". Free these addresses first; "muster ports list --network ${stored.doc.network}" lists the ports.`;
    return refuse(conflict('subnet-in-use', message, { facts: { subnet: id, addresses: held } }));
  }
  const problem = behindRouterProblem(fleet, id, 'it stays') ?? claimedAddressesProblem(fleet, stored, undefined);
  return problem === undefined ? accept([remove(SUBNET, stored.id)], stored) : refuse(problem);
}

function findSubnet(fleet: FleetReader, id: string): StoredSubnet | undefined {
  return fleet.get(SUBNET, idOf(SUBNET, id));
}
