// The form of a subnet: its gateway and pools, as requested or derived from its CIDR. By default the gateway is the first address, and the pools
// are all addresses that are neither special nor the gateway.
import type { Refusal } from '../../fleet/index.ts';
import { isSpecial } from '../addresses/allocation.ts';
import type { Range } from '../addresses/free-ranges.ts';
import {
  contains,
  formatCidr,
  formatIp,
  enclosingNetwork,
  parseIp,
  type Cidr,
  type Ip,
  type IpVersion,
} from '../addresses/ip.ts';
import type { Subnet } from '../model.ts';
import { invalid, isRefusal } from '../refusal.ts';

export interface RequestedSubnetForm {
  /** The first address by default; null for none. */
  readonly gateway?: string | null;
  readonly pools?: Subnet['pools'];
}

export type SubnetForm = Pick<Subnet, 'gateway' | 'pools'>;

export function resolveSubnetForm(cidr: Cidr, { gateway, pools }: RequestedSubnetForm): SubnetForm | Refusal {
  const at = gateway === undefined ? defaultGateway(cidr) : (gateway ?? undefined);
  const ip = at === undefined ? undefined : resolveGateway(cidr, at);
  if (ip !== undefined && isRefusal(ip)) return ip;
  const made = pools === undefined ? defaultPools(cidr, ip?.value) : resolvePools(cidr, pools);
  if (isRefusal(made)) return made;
  return { ...(ip !== undefined && { gateway: formatIp(ip) }), pools: made };
}

function resolveGateway(cidr: Cidr, text: string): Ip | Refusal {
  const ip = parseIp(text);
  const field = '/gateway';
  if (ip === undefined || !contains(cidr, ip)) {
    const message = `The gateway ${text} is not an address of ${formatCidr(cidr)}. Choose one that is, or null for none.`;
    return invalid('gateway-outside-subnet', message, { field, facts: { gateway: text } });
  }
  if (!isSpecial(cidr, ip)) return ip;
  const message = `${text} is the network or the broadcast address of subnet ${formatCidr(cidr)}. Choose another gateway.`;
  return invalid('gateway-reserved', message, { field, facts: { gateway: text } });
}

interface PoolRange extends Range {
  readonly at: number;
}

function resolvePools(cidr: Cidr, pools: Subnet['pools']): Subnet['pools'] | Refusal {
  const ranges: PoolRange[] = [];
  for (const [at, pool] of pools.entries()) {
    const range = resolvePool(cidr, pool, `/pools/${at}`);
    if (isRefusal(range)) return range;
    ranges.push({ ...range, at });
  }
  const sorted = [...ranges].sort((one, other) => (one.first < other.first ? -1 : 1));
  for (const [nth, { first, at }] of sorted.entries()) {
    const before = sorted[nth - 1];
    if (before === undefined || before.last < first) continue;
    const message = `Pools ${before.at + 1} and ${at + 1} overlap. Each address belongs to one pool: end one before the other begins.`;
    return invalid('pools-overlap', message, { field: `/pools/${at}` });
  }
  const { version } = cidr;
  return ranges.map(({ first, last }) => ({
    first: formatIp({ version, value: first }),
    last: formatIp({ version, value: last }),
  }));
}

function resolvePool(cidr: Cidr, { first, last }: Subnet['pools'][number], field: string): Range | Refusal {
  const [from, to] = [parseIp(first), parseIp(last)];
  if (from === undefined || to === undefined || (from.version === to.version && from.value > to.value)) {
    const message = `The pool ${first} to ${last} is none. Name two addresses, the lower one first.`;
    return invalid('pool-invalid', message, { field, facts: { first, last } });
  }
  const within = contains(cidr, from) && contains(cidr, to);
  if (within && !isSpecial(cidr, from) && !isSpecial(cidr, to)) return { first: from.value, last: to.value };
  const usable = defaultPools(cidr, undefined)[0];
  const message = `The pool ${first} to ${last} does not lie in ${formatCidr(cidr)}. Choose one within ${usable?.first} to ${usable?.last}.`;
  return invalid('pool-outside-subnet', message, { field, facts: { first, last } });
}

/** Why a text is no CIDR. */
export function cidrProblem(text: string): Refusal {
  const around = enclosingNetwork(text);
  const hint =
    around === undefined ? 'write it like 10.0.0.0/24 or 2001:db8::/64.' : `use ${around}, which is the one around it.`;
  const message = `"${text}" is not a network in CIDR form: ${hint}`;
  return invalid('cidr-invalid', message, { field: '/cidr', facts: { cidr: text } });
}

const BITS: Readonly<Record<IpVersion, number>> = { 4: 32, 6: 128 };

/** The first address that a host may have; none in a prefix of one or two addresses, where every one is needed. */
export function defaultGateway({ version, first, prefix }: Cidr): string | undefined {
  return BITS[version] - prefix < 2 ? undefined : formatIp({ version, value: first + 1n });
}

/** All allocatable addresses, around the gateway. */
export function defaultPools(cidr: Cidr, gateway: bigint | undefined): Subnet['pools'] {
  const { version } = cidr;
  const first = isSpecial(cidr, { version, value: cidr.first }) ? cidr.first + 1n : cidr.first;
  const last = isSpecial(cidr, { version, value: cidr.last }) ? cidr.last - 1n : cidr.last;
  const parts: Range[] =
    gateway === undefined
      ? [{ first, last }]
      : [
          { first, last: gateway - 1n },
          { first: gateway + 1n, last },
        ];
  return parts
    .filter((part) => part.first <= part.last)
    .map((part) => ({
      first: formatIp({ version, value: part.first }),
      last: formatIp({ version, value: part.last }),
    }));
}
