// What counts as one unauthenticated client: an IPv4 address, or the /64 of an IPv6 address. A machine has a whole /64 and can use another
// address of it for every connection, so a limit per address would have no effect.
import { isIPv4 } from 'node:net';

/** Groups of 16 bits that name the network: a /64. */
const NETWORK_GROUPS = 4;
/** How a socket that takes both families shows an IPv4 peer. */
const MAPPED = /^(?:::ffff:|(?:0{1,4}:){5}ffff:)/i;

/** By which strangers are counted, from an address as the operating system writes it. What is no address counts as itself. */
export function addressBlockOf(address: string): string {
  if (!address.includes(':')) return address;
  const [plain = ''] = address.split('%', 1);
  const inner = plain.replace(MAPPED, '');
  if (isIPv4(inner)) return inner;
  if (inner !== plain) return ipv4Of(inner) ?? address;
  return `${networkGroups(plain).join(':')}::/64`;
}

/** An IPv4 address that is written as two groups, such as `102:304`. */
function ipv4Of(groups: string): string | undefined {
  const [high, low, ...others] = groups.split(':').map((group) => Number.parseInt(group, 16));
  if (high === undefined || low === undefined || others.length > 0) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function networkGroups(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  // Dots at the end stand for two groups.
  const written = front.length + back.length + (address.includes('.') ? 1 : 0);
  const zeros = Array.from({ length: Math.max(0, 8 - written) }, () => '0');
  return [...front, ...zeros, ...back].slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
}
