// IPv4 headers. Options are skipped; fragments are refused, because nothing that is answered here is that long.
import { BROADCAST_IPV4, ipOctets, ipText, isMulticast } from './address.ts';
import { checksum, type AddressPair } from './checksum.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, toDataView } from './octets.ts';

export const PROTOCOL = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58 } as const;

/** A packet of either version. */
export interface IpPacket extends AddressPair {
  readonly protocol: number;
  /** Time to live, or hop limit. */
  readonly ttl: number;
  readonly payload: Uint8Array;
}

const HEADER = 20;
const DO_NOT_FRAGMENT = 0x4000;
/** The more-fragments flag and the fragment offset. */
const FRAGMENT = 0x3fff;

export function decodeIpv4(octets: Uint8Array): IpPacket | Malformed {
  if (octets.length < HEADER) return malformedError('truncated');
  const view = toDataView(octets);
  const first = view.getUint8(0);
  if (first >> 4 !== 4) return malformedError('bad-version');
  const header = (first & 15) * 4;
  const total = view.getUint16(2);
  if (header < HEADER || total < header) return malformedError('bad-length');
  if (octets.length < total) return malformedError('truncated');
  if (checksum(octets.subarray(0, header)) !== 0) return malformedError('bad-checksum');
  if ((view.getUint16(6) & FRAGMENT) !== 0) return malformedError('fragment');
  const src = ipText(octets.subarray(12, 16));
  // Multicast or broadcast: a sender that cannot be answered.
  if (isMulticast(src) || src === BROADCAST_IPV4) return malformedError('bad-address');
  return {
    src,
    dst: ipText(octets.subarray(16, 20)),
    protocol: view.getUint8(9),
    ttl: view.getUint8(8),
    payload: octets.subarray(header, total),
  };
}

export function encodeIpv4({ src, dst, protocol, ttl, payload }: IpPacket): Uint8Array {
  const header = concat(
    Uint8Array.of(0x45, 0),
    u16(HEADER + payload.length),
    u16(0),
    u16(DO_NOT_FRAGMENT),
    Uint8Array.of(ttl, protocol, 0, 0),
    ipOctets(src),
    ipOctets(dst),
  );
  header.set(u16(checksum(header)), 10);
  return concat(header, payload);
}
