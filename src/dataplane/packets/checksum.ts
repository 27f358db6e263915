// The Internet checksum (RFC 1071), and how those of UDP, TCP and ICMPv6 cover the addresses too.
import { ipOctets } from './address.ts';
import { concat, u16, u32, toDataView } from './octets.ts';

/** Source and destination, both IPv4 or both IPv6. */
export interface AddressPair {
  readonly src: string;
  readonly dst: string;
}

/** Over octets with a zero checksum field: the checksum. Over octets with a correct checksum: 0. */
export function checksum(octets: Uint8Array): number {
  const view = toDataView(octets);
  let sum = 0;
  for (let at = 0; at + 1 < octets.length; at += 2) sum += view.getUint16(at);
  if (octets.length % 2 === 1) sum += view.getUint8(octets.length - 1) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x10000);
  return ~sum & 0xffff;
}

/** The checksum of a segment with its pseudo header. */
export function pseudoHeaderChecksum({ src, dst }: AddressPair, protocol: number, segment: Uint8Array): number {
  const [from, to] = [ipOctets(src), ipOctets(dst)];
  const rest =
    from.length === 4
      ? concat(Uint8Array.of(0, protocol), u16(segment.length))
      : concat(u32(segment.length), Uint8Array.of(0, 0, 0, protocol));
  return checksum(concat(from, to, rest, segment));
}
