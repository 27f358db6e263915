// The addresses that somebody asks for when making a port: certain ones, or any of a subnet. All of them lie in one
// segment, because a port is in one place.
import { idOf, type FleetReader, type Refusal } from '../fleet/index.ts';
import { askedAddress, exhausted, type GivenAddress } from './addresses.ts';
import { SUBNET, type Address } from './model.ts';
import { invalid, isRefusal, unknown } from './refusal.ts';
import { stockOf } from './stock.ts';
import { addressKey } from './subnet-stock.ts';
import { poolOf, type StoredSubnet } from './topology.ts';

/** An address, a subnet to have any address of, or an address that must be of this subnet. */
export interface AskedPortAddress {
  readonly ip?: string;
  readonly subnet?: string;
}

export function portAddresses(
  fleet: FleetReader,
  network: string,
  asked: readonly AskedPortAddress[],
): readonly Address[] | Refusal {
  const given: Address[] = [];
  const taken = new Set<string>();
  const promised = new Map<string, bigint>();
  for (const [at, { ip, subnet }] of asked.entries()) {
    const field = `/fixedIps/${at}`;
    const problem = subnet === undefined ? undefined : subnetProblem(fleet, network, subnet, field);
    if (problem !== undefined) return problem;
    const address =
      ip === undefined
        ? ofSubnet(fleet, { network, subnet: subnet ?? '', field, taken })
        : askedAddress(fleet, { network, ip, subnet, field: `${field}/ip`, taken });
    if (isRefusal(address)) return address;
    const short = beyondStock(fleet, { network, address, field, promised });
    if (short !== undefined) return short;
    given.push({ ...address, chosenBy: ip === undefined ? 'create' : 'user' });
    taken.add(addressKey(address.subnet, address.ip));
  }
  return apartProblem(fleet, given) ?? given;
}

function subnetProblem(fleet: FleetReader, network: string, id: string, at: string): Refusal | undefined {
  const field = `${at}/subnet`;
  const subnet = find(fleet, id);
  if (subnet === undefined) return unknown('subnet', id, field);
  if (subnet.doc.network === network) return undefined;
  const message = `Subnet "${id}" is one of network "${subnet.doc.network}", not of "${network}". Name one of its own.`;
  return invalid('subnet-of-other-network', message, { field, facts: { subnet: id, network: subnet.doc.network } });
}

interface OfSubnet {
  readonly network: string;
  readonly subnet: string;
  readonly field: string;
  readonly taken: ReadonlySet<string>;
}

function ofSubnet(fleet: FleetReader, { network, subnet: id, field, taken }: OfSubnet): GivenAddress | Refusal {
  const subnet = find(fleet, id);
  if (subnet === undefined) {
    return invalid('address-or-subnet-required', 'Name an address or a subnet to have one of.', { field });
  }
  const ip = stockOf(fleet).lowestOf(id, taken);
  return ip === undefined ? exhausted(network, poolOf(subnet.doc), field) : { ip, subnet: id };
}

interface Wanted {
  readonly network: string;
  readonly address: GivenAddress;
  readonly field: string;
  /** What this request takes of each pool so far. */
  readonly promised: Map<string, bigint>;
}

/** One request takes no more of a pool than is neither held nor promised, however many addresses it asks for. */
function beyondStock(fleet: FleetReader, { network, address, field, promised }: Wanted): Refusal | undefined {
  const stock = stockOf(fleet);
  const subnet = find(fleet, address.subnet);
  if (subnet === undefined || !stock.isPooled(address.subnet, address.ip)) return undefined;
  const pool = poolOf(subnet.doc);
  const key = `${pool}|${subnet.doc.version}`;
  const more = (promised.get(key) ?? 0n) + 1n;
  promised.set(key, more);
  return more > stock.free(pool, subnet.doc.version) ? exhausted(network, pool, field, subnet.doc.version) : undefined;
}

function apartProblem(fleet: FleetReader, given: readonly Address[]): Refusal | undefined {
  const segments = new Set(given.map(({ subnet }) => find(fleet, subnet)?.doc.segment));
  if (segments.size <= 1) return undefined;
  const message = `The addresses lie in ${segments.size} segments: ${[...segments].join(', ')}. A port is in one; ask for addresses of one segment.`;
  return invalid('addresses-in-different-segments', message, {
    field: '/fixedIps',
    facts: { segments: [...segments] },
  });
}

function find(fleet: FleetReader, subnet: string): StoredSubnet | undefined {
  return fleet.get(SUBNET, idOf(SUBNET, subnet));
}
