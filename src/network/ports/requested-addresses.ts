// Resolves the addresses requested for a port: specific ones, or any of a subnet. All of them must lie in one segment, because a port is in one
// place.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { resolveRequestedAddress, addressesExhausted, type AllocatedAddress } from '../addresses/allocation.ts';
import { SUBNET, type Address } from '../model.ts';
import { invalid, isRefusal, unknownResource } from '../refusal.ts';
import { stockOf } from '../addresses/stock.ts';
import { addressKey } from '../addresses/subnet-stock.ts';
import { poolOf, type StoredSubnet } from '../networks/topology.ts';

/** An address, a subnet to pick from, or an address that must be in this subnet. */
export interface RequestedPortAddress {
  readonly ip?: string;
  readonly subnet?: string;
}

export function resolveRequestedAddresses(
  fleet: FleetReader,
  network: string,
  requested: readonly RequestedPortAddress[],
): readonly Address[] | Refusal {
  const allocated: Address[] = [];
  const taken = new Set<string>();
  const promised = new Map<string, bigint>();
  for (const [at, { ip, subnet }] of requested.entries()) {
    const field = `/fixedIps/${at}`;
    const problem = subnet === undefined ? undefined : subnetProblem(fleet, network, subnet, field);
    if (problem !== undefined) return problem;
    const address =
      ip === undefined
        ? pickFromSubnet(fleet, { network, subnet: subnet ?? '', field, taken })
        : resolveRequestedAddress(fleet, { network, ip, subnet, field: `${field}/ip`, taken });
    if (isRefusal(address)) return address;
    const short = stockProblem(fleet, { network, address, field, promised });
    if (short !== undefined) return short;
    allocated.push({ ...address, chosenBy: ip === undefined ? 'create' : 'user' });
    taken.add(addressKey(address.subnet, address.ip));
  }
  return segmentsProblem(fleet, allocated) ?? allocated;
}

function subnetProblem(fleet: FleetReader, network: string, id: string, at: string): Refusal | undefined {
  const field = `${at}/subnet`;
  const subnet = findSubnet(fleet, id);
  if (subnet === undefined) return unknownResource('subnet', id, field);
  if (subnet.doc.network === network) return undefined;
  const message = `Subnet "${id}" is one of network "${subnet.doc.network}", not of "${network}". Name one of its own.`;
  return invalid('subnet-of-other-network', message, { field, facts: { subnet: id, network: subnet.doc.network } });
}

interface SubnetPick {
  readonly network: string;
  readonly subnet: string;
  readonly field: string;
  readonly taken: ReadonlySet<string>;
}

function pickFromSubnet(
  fleet: FleetReader,
  { network, subnet: id, field, taken }: SubnetPick,
): AllocatedAddress | Refusal {
  const subnet = findSubnet(fleet, id);
  if (subnet === undefined) {
    return invalid('address-or-subnet-required', 'Name an address or a subnet to have one of.', { field });
  }
  const ip = stockOf(fleet).lowestFreeOf(id, taken);
  return ip === undefined ? addressesExhausted(network, poolOf(subnet.doc), field) : { ip, subnet: id };
}

interface StockCheck {
  readonly network: string;
  readonly address: AllocatedAddress;
  readonly field: string;
  /** What this request has used of each pool so far. */
  readonly promised: Map<string, bigint>;
}

/** One request uses no more of a pool than is neither held nor claimed, however many addresses it names. */
function stockProblem(fleet: FleetReader, { network, address, field, promised }: StockCheck): Refusal | undefined {
  const stock = stockOf(fleet);
  const subnet = findSubnet(fleet, address.subnet);
  if (subnet === undefined || !stock.isPooled(address.subnet, address.ip)) return undefined;
  const pool = poolOf(subnet.doc);
  const key = `${pool}|${subnet.doc.version}`;
  const more = (promised.get(key) ?? 0n) + 1n;
  promised.set(key, more);
  return more > stock.free(pool, subnet.doc.version)
    ? addressesExhausted(network, pool, field, subnet.doc.version)
    : undefined;
}

function segmentsProblem(fleet: FleetReader, addresses: readonly Address[]): Refusal | undefined {
  const segments = new Set(addresses.map(({ subnet }) => findSubnet(fleet, subnet)?.doc.segment));
  if (segments.size <= 1) return undefined;
  const message = `The addresses lie in ${segments.size} segments: ${[...segments].join(', ')}. A port is in one; request addresses of one segment.`;
  return invalid('addresses-in-different-segments', message, {
    field: '/fixedIps',
    facts: { segments: [...segments] },
  });
}

function findSubnet(fleet: FleetReader, subnet: string): StoredSubnet | undefined {
  return fleet.get(SUBNET, idOf(SUBNET, subnet));
}
