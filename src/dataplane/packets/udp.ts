// UDP over IPv4 and IPv6.
import { isIpv6 } from './address.ts';
import { pseudoHeaderChecksum, type AddressPair } from './checksum.ts';
import { PROTOCOL } from './ipv4.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, toDataView } from './octets.ts';

export interface Udp {
  readonly sport: number;
  readonly dport: number;
  readonly payload: Uint8Array;
}

const HEADER = 8;

export function decodeUdp(octets: Uint8Array, between: AddressPair): Udp | Malformed {
  if (octets.length < HEADER) return malformedError('truncated');
  const view = toDataView(octets);
  const length = view.getUint16(4);
  if (length < HEADER) return malformedError('bad-length');
  if (octets.length < length) return malformedError('truncated');
  const segment = octets.subarray(0, length);
  // IPv4 allows a sender to omit the checksum.
  const unchecked = view.getUint16(6) === 0 && !isIpv6(between.src);
  if (!unchecked && (view.getUint16(6) === 0 || pseudoHeaderChecksum(between, PROTOCOL.udp, segment) !== 0)) {
    return malformedError('bad-checksum');
  }
  return { sport: view.getUint16(0), dport: view.getUint16(2), payload: segment.subarray(HEADER) };
}

export function encodeUdp({ sport, dport, payload }: Udp, between: AddressPair): Uint8Array {
  const segment = concat(u16(sport), u16(dport), u16(HEADER + payload.length), u16(0), payload);
  // Zero would mean that there is no checksum.
  segment.set(u16(pseudoHeaderChecksum(between, PROTOCOL.udp, segment) || 0xffff), 6);
  return segment;
}
