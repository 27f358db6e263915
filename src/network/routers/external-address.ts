// The external address of a router or a floating address: a port of its own on an external network, created and deleted in the same commit as its
// user. Only Muster's own address management allocates one: it is decided here, for good.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import type { Host } from '../../hosts/index.ts';
import { resolveRequestedAddress, addressesExhausted, type AllocatedAddress } from '../addresses/allocation.ts';
import { portDefaultsOf, allocateMac } from '../ports/attach.ts';
import type { IpVersion } from '../addresses/ip.ts';
import { PORT, SUBNET, type Port } from '../model.ts';
import { portQuotaProblem } from '../quotas/quota.ts';
import { conflict, forbid, invalid, isRefusal, unknownResource } from '../refusal.ts';
import type { ExternalAddress, Router } from './model.ts';
import { stockOf } from '../addresses/stock.ts';
import { findNetwork, hostReaches, topologyOf, type StoredNetwork } from '../networks/topology.ts';

export interface ExternalAddressRequest {
  readonly network: string;
  /** This address; the lowest free one by default. */
  readonly ip?: string | undefined;
  readonly usedBy: NonNullable<Port['usedBy']>;
  /** The port to create for it. */
  readonly portId: string;
  /** It replaces one that the project has. */
  readonly replaces?: boolean;
  readonly project: string;
  readonly admin: boolean;
  /** What other projects have does not exist for the caller. */
  readonly isProjectScoped?: boolean;
  readonly by: string;
  readonly nowMs: number;
  /** Where the network and the address are in the request. */
  readonly fields: { readonly network: string; readonly ip: string };
}

export interface AllocatedExternalAddress {
  readonly address: ExternalAddress;
  readonly change: Change;
}

export function allocateExternalAddress(
  fleet: FleetReader,
  request: ExternalAddressRequest,
): AllocatedExternalAddress | Refusal {
  const network = findNetwork(fleet, request.network);
  if (network === undefined) return unknownResource('network', request.network, request.fields.network);
  const problem =
    networkProblem(network, request) ?? portQuotaProblem(fleet, request.project, request.replaces === true ? 0 : 1);
  if (problem !== undefined) return problem;
  const allocated =
    request.ip === undefined
      ? pickLowestExternal(fleet, network, request.fields.network)
      : resolveRequestedAddress(fleet, { network: network.id, ip: request.ip, field: request.fields.ip });
  if (isRefusal(allocated)) return allocated;
  const change = put(PORT, idOf(PORT, request.portId), composeExternalPort(fleet, network, request, allocated));
  return { address: { port: request.portId, ip: allocated.ip }, change };
}

function networkProblem(
  { id, doc }: StoredNetwork,
  { project, admin, isProjectScoped = false, fields }: ExternalAddressRequest,
): Refusal | undefined {
  const field = fields.network;
  const facts = { network: id };
  if (isProjectScoped && !doc.shared && doc.project !== project) return unknownResource('network', id, field);
  if (!doc.external) {
    const message = `Network "${id}" is not external. Name an external network; "muster networks list --external true" lists them.`;
    return invalid('network-not-external', message, { field, facts });
  }
  if (!admin && !doc.shared && doc.project !== project) {
    const message = `Network "${id}" belongs to project "${doc.project}" and is not shared. Use another network, or ask an administrator.`;
    return forbid('network-not-allowed', message, { field, facts });
  }
  if (doc.backEnd === 'embedded') return undefined;
  const message = `Network "${id}" has the back end "${doc.backEnd}". External addresses are allocated only on networks of the back end "embedded"; use one of those.`;
  return invalid('external-back-end-not-supported', message, { field, facts: { ...facts, backEnd: doc.backEnd } });
}

/** IPv4 where the network has any, because NAT translates that; else IPv6. The lowest of the first pool with a free one. */
function pickLowestExternal(fleet: FleetReader, { id }: StoredNetwork, field: string): AllocatedAddress | Refusal {
  const stock = stockOf(fleet);
  const pools = topologyOf(fleet)
    .placementChoicesOf(id)
    .map(({ pool }) => pool);
  const has = (version: IpVersion) => pools.filter((pool) => stock.versionsOf(pool).includes(version));
  const version: IpVersion = has(4).length > 0 ? 4 : 6;
  const [first] = has(version);
  if (first === undefined) {
    const message = `Network "${id}" has no addresses to allocate. Create a subnet on it first.`;
    return conflict('network-without-subnet', message, { field, facts: { network: id } });
  }
  const pool = has(version).find((one) => stock.free(one, version) > 0n);
  const picked = pool === undefined ? undefined : stock.pick(pool, version, new Set());
  return picked ?? addressesExhausted(id, first, field, version);
}

function composeExternalPort(
  fleet: FleetReader,
  { id, doc }: StoredNetwork,
  request: ExternalAddressRequest,
  allocated: AllocatedAddress,
): Port {
  return {
    network: id,
    project: request.project,
    createdBy: 'muster',
    state: 'made',
    mac: allocateMac(fleet, 0),
    usedBy: request.usedBy,
    ipAllocation: 'immediate',
    addresses: [{ ...allocated, chosenBy: request.ip === undefined ? 'create' : 'user' }],
    serial: 0,
    ...portDefaultsOf(doc),
    securityGroups: [],
    changedBy: request.by,
    changedAtMs: request.nowMs,
  };
}

/**
 * The hosts that can serve a router's NAT: those that reach the segment of its external address. On a network that is not routed, or while it
 * has no address, any of the network's segments is acceptable, and every host where it has none.
 */
export function externalReachPredicate(fleet: FleetReader, { externalNetwork, nat }: Router): (host: Host) => boolean {
  if (externalNetwork === undefined) return () => false;
  const segments = topologyOf(fleet)
    .segmentsOf(externalNetwork)
    .filter(({ doc }) => !doc.dynamic);
  const [address] = nat === undefined ? [] : (fleet.get(PORT, idOf(PORT, nat.port))?.doc.addresses ?? []);
  const own = address === undefined ? undefined : fleet.get(SUBNET, idOf(SUBNET, address.subnet))?.doc.segment;
  const wanted = own === undefined ? segments : segments.filter(({ id }) => id === own);
  return (host) => wanted.length === 0 || wanted.some(({ doc }) => hostReaches(host, doc));
}
