// Decides whether a subnet may be added to a router: usable by the project, with a gateway, behind no other router, and without an overlap with
// anything else that the router connects.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { cidrOf } from '../addresses/allocation.ts';
import { overlaps } from '../addresses/ip.ts';
import { SUBNET } from '../model.ts';
import { conflict, invalid, unknownResource } from '../refusal.ts';
import { networkAccessProblem } from '../networks/resolve.ts';
import { ROUTERS_BY_EXTERNAL_NETWORK, ROUTERS_BY_SUBNET, SUBNETS_MAX } from './model.ts';
import { findNetwork, topologyOf, type StoredSubnet } from '../networks/topology.ts';

export interface RouterSubnets {
  readonly router: string;
  readonly project: string;
  readonly admin: boolean;
  /** All its subnets after the change. */
  readonly subnets: readonly string[];
  readonly externalNetwork: string | undefined;
  /** Where a subnet is in the request; undefined for those that were behind it before. */
  readonly fieldOf: (subnet: string) => string | undefined;
}

export function subnetsProblem(fleet: FleetReader, behind: RouterSubnets): Refusal | undefined {
  const { router, subnets, fieldOf } = behind;
  if (subnets.length > SUBNETS_MAX) {
    const message = `Router "${router}" would have ${subnets.length} subnets, and at most ${SUBNETS_MAX} are possible. Create another router.`;
    return conflict('router-full', message, { facts: { router, subnets: subnets.length, most: SUBNETS_MAX } });
  }
  for (const id of subnets) {
    const field = fieldOf(id);
    if (field === undefined) continue;
    const subnet = findSubnet(fleet, id);
    const problem =
      subnet === undefined ? unknownResource('subnet', id, field) : subnetProblem(fleet, subnet, behind, field);
    if (problem !== undefined) return problem;
  }
  return overlapProblem(fleet, behind);
}

function subnetProblem(
  fleet: FleetReader,
  { id, doc }: StoredSubnet,
  { router, project, admin }: RouterSubnets,
  field: string,
): Refusal | undefined {
  const network = findNetwork(fleet, doc.network);
  const problem = network === undefined ? undefined : networkAccessProblem(network, { project, admin }, field);
  if (problem !== undefined) return problem;
  for (const other of fleet.find(ROUTERS_BY_SUBNET, id)) {
    if (other.id === router) continue;
    const message = `Subnet "${id}" is behind router "${other.id}" already. Remove it from there first: muster routers edit ${other.id} --remove-subnet ${id}`;
    return conflict('subnet-behind-router', message, { field, facts: { subnet: id, router: other.id } });
  }
  if (doc.gateway !== undefined) return undefined;
  const message = `Subnet "${id}" has no gateway, which is the address of the router in it. Give it one first: muster subnets edit ${id} --gateway <address>`;
  return conflict('subnet-without-gateway', message, { field, facts: { subnet: id } });
}

/** Behind one router an address is unique, internal and external ones alike. */
function overlapProblem(fleet: FleetReader, { subnets, externalNetwork, fieldOf }: RouterSubnets): Refusal | undefined {
  const inside = subnets.flatMap((id) => findSubnet(fleet, id) ?? []);
  const outside = externalNetwork === undefined ? [] : topologyOf(fleet).subnetsOf(externalNetwork);
  for (const [nth, one] of inside.entries()) {
    const field = fieldOf(one.id);
    if (one.doc.network === externalNetwork) {
      const message = `Subnet "${one.id}" is one of the external network "${externalNetwork}" itself. A subnet behind a router must be an internal one: name another.`;
      return invalid('subnet-is-outside', message, { field, facts: { subnet: one.id, network: externalNetwork } });
    }
    for (const other of [...inside.slice(0, nth), ...outside]) {
      if (overlaps(cidrOf(one.doc.cidr), cidrOf(other.doc.cidr))) return subnetsOverlap(one, other, field);
    }
  }
  return undefined;
}

function subnetsOverlap(one: StoredSubnet, other: StoredSubnet, field: string | undefined): Refusal {
  const message = `Subnet "${one.id}" (${one.doc.cidr}) overlaps with subnet "${other.id}" (${other.doc.cidr}). A router cannot tell them apart; put one of them behind another router.`;
  return conflict('subnets-overlap', message, { field, facts: { subnet: one.id, other: other.id } });
}

/** A new subnet of an external network must not overlap with the subnets behind its routers. */
export function externalOverlapProblem(fleet: FleetReader, network: string, cidr: string): Refusal | undefined {
  for (const router of fleet.find(ROUTERS_BY_EXTERNAL_NETWORK, network)) {
    for (const id of router.doc.subnets) {
      const inside = findSubnet(fleet, id);
      if (inside === undefined || !overlaps(cidrOf(inside.doc.cidr), cidrOf(cidr))) continue;
      const message = `${cidr} overlaps with ${inside.doc.cidr} of subnet "${id}" behind router "${router.id}", which has this external network. Choose another range.`;
      const facts = { subnet: id, cidr: inside.doc.cidr, router: router.id };
      return conflict('cidr-overlaps', message, { field: '/cidr', facts });
    }
  }
  return undefined;
}

function findSubnet(fleet: FleetReader, subnet: string): StoredSubnet | undefined {
  return fleet.get(SUBNET, idOf(SUBNET, subnet));
}
