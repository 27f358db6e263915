// IP addresses as numbers: parsing, canonical text, prefixes. Addresses are bigints in code and canonical text in documents: one address must
// never have two spellings.

export type IpVersion = 4 | 6;

export interface Ip {
  readonly version: IpVersion;
  readonly value: bigint;
}

export interface Cidr {
  readonly version: IpVersion;
  /** The network's first address. */
  readonly first: bigint;
  readonly last: bigint;
  readonly prefix: number;
}

const BITS: Readonly<Record<IpVersion, number>> = { 4: 32, 6: 128 };

/** Parses an address; undefined when the text is none. No octal, no zone, no leading zeros. */
export function parseIp(text: string): Ip | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

const DOT = 0x2e;
const ZERO = 0x30;

/** Character by character, for speed: every change of a port is parsed by this. */
function parseIpv4(text: string): Ip | undefined {
  let value = 0;
  let octet = -1;
  let octets = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit === DOT - ZERO && octet !== -1) {
      value = value * 256 + octet;
      octet = -1;
      octets += 1;
      continue;
    }
    // Some parsers read a leading zero as octal.
    if (digit < 0 || digit > 9 || octet === 0) return undefined;
    octet = octet === -1 ? digit : octet * 10 + digit;
    if (octet > 255) return undefined;
  }
  return octets === 3 && octet !== -1 ? { version: 4, value: BigInt(value * 256 + octet) } : undefined;
}

function parseIpv6(text: string): Ip | undefined {
  const [head, tail, ...more] = text.split('::');
  if (more.length > 0 || head === undefined) return undefined;
  // Dots are allowed only at the end of the whole address.
  if (tail !== undefined && head.includes('.')) return undefined;
  const front = parseGroups(head);
  const back = tail === undefined ? [] : parseGroups(tail);
  if (front === undefined || back === undefined) return undefined;
  const missing = 8 - front.length - back.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...front, ...Array.from({ length: missing }, () => 0n), ...back];
  return { version: 6, value: groups.reduce((value, group) => (value << 16n) | group, 0n) };
}

function parseGroups(text: string): bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1) ?? '';
  const groups: bigint[] = [];
  for (const part of last.includes('.') ? parts.slice(0, -1) : parts) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined;
    groups.push(BigInt(`0x${part}`));
  }
  if (!last.includes('.')) return groups;
  const embedded = parseIpv4(last);
  if (embedded === undefined) return undefined;
  return [...groups, embedded.value >> 16n, embedded.value & 0xffffn];
}

/** Addresses in ::ffff:0:0/96 map IPv4 and are written with dots. */
const MAPPED = 0xffffn;

/** Canonical text: dotted for IPv4, RFC 5952 for IPv6. */
export function formatIp({ version, value }: Ip): string {
  if (version === 4) return formatIpv4(Number(value));
  if (value >> 32n === MAPPED) return `::ffff:${formatIpv4(Number(value & 0xffff_ffffn))}`;
  const groups = Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - 16 * at)) & 0xffffn));
  const run = longestZeroRun(groups);
  if (run === undefined) return formatGroups(groups);
  return `${formatGroups(groups.slice(0, run.start))}::${formatGroups(groups.slice(run.start + run.length))}`;
}

function formatGroups(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':');
}

function formatIpv4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } | undefined {
  let best: { start: number; length: number } | undefined;
  for (let start = 0; start < groups.length; start += 1) {
    let length = 0;
    while (groups[start + length] === 0) length += 1;
    // A single zero group is not shortened.
    if (length >= 2 && length > (best?.length ?? 0)) best = { start, length };
    start += length;
  }
  return best;
}

/** The canonical form of a text; undefined when it is no address. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** A prefix: an address with host bits set is not one. */
export function parseCidr(text: string): Cidr | undefined {
  const { ip, cidr } = parseAddressAndPrefix(text) ?? {};
  return ip !== undefined && ip.value === cidr?.first ? cidr : undefined;
}

/** The prefix around an address with a length, as text; undefined when the text is not that either. */
export function enclosingNetwork(text: string): string | undefined {
  const { cidr } = parseAddressAndPrefix(text) ?? {};
  return cidr === undefined ? undefined : formatCidr(cidr);
}

function parseAddressAndPrefix(text: string): { readonly ip: Ip; readonly cidr: Cidr } | undefined {
  const [address = '', length = '', ...more] = text.split('/');
  const ip = parseIp(address);
  if (ip === undefined || more.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefix = Number(length);
  const bits = BITS[ip.version];
  if (prefix > bits) return undefined;
  const size = 1n << BigInt(bits - prefix);
  const first = ip.value - (ip.value % size);
  return { ip, cidr: { version: ip.version, first, last: first + size - 1n, prefix } };
}

export function formatCidr({ version, first, prefix }: Cidr): string {
  return `${formatIp({ version, value: first })}/${prefix}`;
}

export function contains(cidr: Cidr, ip: Ip): boolean {
  return cidr.version === ip.version && ip.value >= cidr.first && ip.value <= cidr.last;
}

export function overlaps(one: Cidr, other: Cidr): boolean {
  return one.version === other.version && one.first <= other.last && other.first <= one.last;
}
