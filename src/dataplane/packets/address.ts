// Addresses between text and octets. Text is canonical (RFC 5952 for IPv6, lower case), so that texts can be compared. A text that is no
// address is a bug of the caller: input from the network is octets.

export const BROADCAST_MAC = 'ff:ff:ff:ff:ff:ff';
export const NO_MAC = '00:00:00:00:00:00';
export const ALL_NODES = 'ff02::1';
export const UNSPECIFIED = '::';
export const UNSPECIFIED_IPV4 = '0.0.0.0';
export const BROADCAST_IPV4 = '255.255.255.255';

const HEX = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'));
const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;

export function macOctets(text: string): Uint8Array {
  if (!MAC.test(text)) throw new Error(`${JSON.stringify(text)} is not a MAC address`);
  return Uint8Array.from(text.split(':'), (octet) => Number.parseInt(octet, 16));
}

export function macText(octets: Uint8Array): string {
  return Array.from(octets, (octet) => HEX[octet]).join(':');
}

export function isIpv6(text: string): boolean {
  return text.includes(':');
}

/** 4 octets or 16. */
export function ipOctets(text: string): Uint8Array {
  const octets = isIpv6(text) ? ipv6Octets(text) : ipv4Octets(text);
  if (octets === undefined) throw new Error(`${JSON.stringify(text)} is not an IP address`);
  return octets;
}

/** The text of 4 octets or of 16. */
export function ipText(octets: Uint8Array): string {
  return octets.length === 4 ? octets.join('.') : ipv6Text(octets);
}

/** One spelling for one address. */
export function canonical(text: string): string {
  return ipText(ipOctets(text));
}

function ipv4Octets(text: string): Uint8Array | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) {
    return undefined;
  }
  return Uint8Array.from(parts, Number);
}

function ipv6Octets(text: string): Uint8Array | undefined {
  const [head = '', tail, ...more] = text.split('::');
  const front = octetsOf(head, tail === undefined);
  const back = tail === undefined ? [] : octetsOf(tail, true);
  if (more.length > 0 || front === undefined || back === undefined) return undefined;
  const missing = 16 - front.length - back.length;
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...front, ...Array.from({ length: missing }, () => 0), ...back]);
}

/** The octets of some groups; the last may be an IPv4 address at the end of the whole address. */
function octetsOf(text: string, atTheEnd: boolean): number[] | undefined {
  if (text === '') return [];
  const octets: number[] = [];
  const groups = text.split(':');
  for (const [at, group] of groups.entries()) {
    const dotted = atTheEnd && at === groups.length - 1 ? ipv4Octets(group) : undefined;
    if (dotted === undefined && !/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
    const value = Number.parseInt(group, 16);
    octets.push(...(dotted ?? [value >> 8, value & 255]));
  }
  return octets;
}

const MAPPED = '0000:0000:0000:0000:0000:ffff';

function ipv6Text(octets: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, at) => ((octets[2 * at] ?? 0) << 8) | (octets[2 * at + 1] ?? 0));
  const written = groups.map((group) => group.toString(16));
  if (
    groups
      .slice(0, 6)
      .map((group) => group.toString(16).padStart(4, '0'))
      .join(':') === MAPPED
  ) {
    return `::ffff:${octets.subarray(12).join('.')}`;
  }
  const { start, length } = longestZeroRun(groups);
  // A single zero group is not shortened.
  if (length < 2) return written.join(':');
  return `${written.slice(0, start).join(':')}::${written.slice(start + length).join(':')}`;
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start += 1) {
    let length = 0;
    while (groups[start + length] === 0) length += 1;
    if (length > best.length) best = { start, length };
  }
  return best;
}

/** The link-local address that RFC 4291, appendix A, derives from a MAC address. */
export function linkLocalOf(mac: string): string {
  const [first = 0, ...rest] = macOctets(mac);
  const id = [first ^ 2, ...rest.slice(0, 2), 0xff, 0xfe, ...rest.slice(2)];
  return ipText(Uint8Array.from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, ...id]));
}

/** The solicited-node group of an address. */
export function solicitedNodeOf(ip: string): string {
  return ipText(Uint8Array.from([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, ...ipOctets(ip).subarray(13)]));
}

/** The MAC address of an IPv6 multicast group. */
export function multicastMacOf(group: string): string {
  return macText(Uint8Array.from([0x33, 0x33, ...ipOctets(group).subarray(12)]));
}

export function isMulticast(ip: string): boolean {
  const [first = 0] = ipOctets(ip);
  return isIpv6(ip) ? first === 0xff : first >= 224 && first < 240;
}

export function isLinkLocal(ip: string): boolean {
  const [first = 0, second = 0] = ipOctets(ip);
  return isIpv6(ip) && first === 0xfe && (second & 0xc0) === 0x80;
}

export interface Prefix {
  /** The first address. */
  readonly address: string;
  readonly length: number;
}

export function parsePrefix(cidr: string): Prefix {
  const [address = '', length = ''] = cidr.split('/');
  const bits = ipOctets(address).length * 8;
  if (!/^\d{1,3}$/.test(length) || Number(length) > bits) throw new Error(`${JSON.stringify(cidr)} is not a prefix`);
  return { address: canonical(address), length: Number(length) };
}

/** As many leading ones as the prefix is long: 255.255.255.0. */
export function maskOf({ address, length }: Prefix): Uint8Array {
  return ipOctets(address).map((_, at) => (0xff00 >> Math.min(Math.max(length - 8 * at, 0), 8)) & 255);
}

export function isInPrefix(prefix: Prefix, ip: string): boolean {
  const mask = maskOf(prefix);
  const first = ipOctets(prefix.address);
  const octets = ipOctets(ip);
  return (
    octets.length === first.length && octets.every((octet, at) => ((octet ^ (first[at] ?? 0)) & (mask[at] ?? 0)) === 0)
  );
}

/** The last address of a prefix: for IPv4, its broadcast address. */
export function lastOf(prefix: Prefix): string {
  const mask = maskOf(prefix);
  return ipText(ipOctets(prefix.address).map((octet, at) => octet | (~(mask[at] ?? 0) & 255)));
}
