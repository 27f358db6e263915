// Decides which addresses may be given out, both requested ones and picked ones: nothing else may allocate an address.
import type { FleetReader, Refusal } from '../../fleet/index.ts';
import { canonicalIp, contains, formatIp, parseCidr, parseIp, type Cidr, type Ip, type IpVersion } from './ip.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import { conflict, invalid } from '../refusal.ts';
import { stockOf } from './stock.ts';
import { addressKey } from './subnet-stock.ts';
import { poolOf, segmentOfPool, topologyOf, type StoredSubnet } from '../networks/topology.ts';

export interface AllocatedAddress {
  readonly ip: string;
  readonly subnet: string;
}

/** The addresses in a report of a back end or a host, each in canonical form and once; undefined when one is invalid. */
export function canonicalizeAddresses(reported: readonly AllocatedAddress[]): AllocatedAddress[] | undefined {
  const addresses = new Map<string, AllocatedAddress>();
  for (const { ip: text, subnet } of reported) {
    const ip = canonicalIp(text);
    if (ip === undefined) return undefined;
    addresses.set(addressKey(subnet, ip), { ip, subnet });
  }
  return [...addresses.values()];
}

const NONE_TAKEN: ReadonlySet<string> = new Set();

export interface IpAddressRequest {
  readonly network: string;
  readonly ip: string;
  /** Only this subnet is acceptable. */
  readonly subnet?: string | undefined;
  readonly field: string;
  /** Addresses already allocated in the same request. */
  readonly taken?: ReadonlySet<string> | undefined;
}

/** A requested address: it lies in a subnet of the network, is not special, and is free. */
export function resolveRequestedAddress(fleet: FleetReader, request: IpAddressRequest): AllocatedAddress | Refusal {
  const { network, field } = request;
  const ip = parseIp(request.ip);
  if (ip === undefined)
    return invalid('address-invalid', `"${request.ip}" is not an IP address. Write it like 10.0.0.9 or 2001:db8::9.`, {
      field,
    });
  const text = formatIp(ip);
  const subnets = topologyOf(fleet).subnetsOf(network);
  const subnet = subnets.find(
    ({ id, doc }) => (request.subnet === undefined || request.subnet === id) && contains(cidrOf(doc.cidr), ip),
  );
  if (subnet === undefined) return addressOutsideSubnet(text, request);
  if (isSpecial(cidrOf(subnet.doc.cidr), ip)) return addressReserved(text, subnet, field);
  const stock = stockOf(fleet);
  const holder = stock.holderOf(subnet.id, text);
  if (holder !== undefined) return addressInUse(text, holder, field);
  if (request.taken?.has(addressKey(subnet.id, text)) === true) {
    return invalid('address-twice', `The request asks for ${text} more than once. Name it once.`, {
      field,
      facts: { ip: text },
    });
  }
  const pool = poolOf(subnet.doc);
  // Addresses claimed by others may not be taken by name.
  if (stock.isPooled(subnet.id, text) && stock.free(pool, ip.version) <= 0n)
    return addressesExhausted(network, pool, field);
  return { ip: text, subnet: subnet.id };
}

/** One address of each version of a pool, leaving enough for the claims of others. */
export function pickAddresses(
  fleet: FleetReader,
  from: { readonly network: string; readonly pool: PoolKey; readonly taken?: ReadonlySet<string>; field?: string },
): readonly AllocatedAddress[] | Refusal {
  const { network, pool, taken = NONE_TAKEN, field } = from;
  const stock = stockOf(fleet);
  const versions = stock.versionsOf(pool);
  if (versions.length === 0) return addressesExhausted(network, pool, field);
  const picked = versions.map((version) => ({
    version,
    address: stock.free(pool, version) > 0n ? stock.pick(pool, version, taken) : undefined,
  }));
  const short = picked.flatMap(({ version, address }) => (address === undefined ? [version] : []));
  return short.length > 0
    ? addressesExhausted(network, pool, field, ...short)
    : picked.flatMap(({ address }) => address ?? []);
}

/** A document's CIDR parses: it was checked when the subnet was created. */
export function cidrOf(text: string): Cidr {
  return parseCidr(text) as Cidr;
}

/** The network's own address and its broadcast address (IPv4), the routers' anycast address (IPv6). */
export function isSpecial(cidr: Cidr, { value }: Ip): boolean {
  const hostBits = (cidr.version === 4 ? 32 : 128) - cidr.prefix;
  if (hostBits < 2) return false;
  return value === cidr.first || (cidr.version === 4 && value === cidr.last);
}

function addressOutsideSubnet(ip: string, { network, subnet, field }: IpAddressRequest): Refusal {
  const where = subnet === undefined ? `any subnet of network "${network}"` : `subnet "${subnet}" of "${network}"`;
  const message = `${ip} does not lie in ${where}. Request an address of one of its subnets.`;
  return invalid('address-outside-subnet', message, { field, facts: { ip, network } });
}

function addressReserved(ip: string, { id, doc }: StoredSubnet, field: string): Refusal {
  const message = `${ip} is the network or the broadcast address of subnet ${doc.cidr}. Request another address.`;
  return invalid('address-reserved', message, { field, facts: { ip, subnet: id } });
}

export function addressInUse(ip: string, holder: string, field: string): Refusal {
  const who = holder === 'gateway' ? 'the gateway' : `port "${holder}"`;
  const message = `${ip} belongs to ${who} already. Request another address, or none.`;
  return conflict('address-in-use', message, { field, facts: { ip, holder } });
}

/** `versions`: those without a free address, if known. */
export function addressesExhausted(
  network: string,
  pool: PoolKey,
  field: string | undefined,
  ...versions: readonly IpVersion[]
): Refusal {
  const segment = segmentOfPool(pool);
  const where = segment === undefined ? '' : ` in segment "${segment}"`;
  const names = versions.map((version) => `IPv${version}`).join(' and no ');
  const what = versions.length === 0 ? 'No address' : `No ${names} address`;
  const message = `${what} of network "${network}"${where} is free. Give it a larger pool, or delete ports that are not used.`;
  const [version] = versions;
  const facts = { network, pool, ...(version !== undefined && { version }), ...(versions.length > 1 && { versions }) };
  return conflict('addresses-exhausted', message, { field, facts });
}
