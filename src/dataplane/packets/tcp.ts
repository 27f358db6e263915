// TCP headers over IPv4 and IPv6.
import { pseudoHeaderChecksum, type AddressPair } from './checksum.ts';
import { PROTOCOL } from './ipv4.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, u32, toDataView } from './octets.ts';

export const TCP_FLAG = { fin: 1, syn: 2, rst: 4, psh: 8, ack: 16, urg: 32 } as const;

export interface Tcp {
  readonly sport: number;
  readonly dport: number;
  readonly sequence: number;
  readonly acknowledged: number;
  /** Bits of TCP_FLAG. */
  readonly flags: number;
  readonly window: number;
  readonly payload: Uint8Array;
}

const HEADER = 20;

/** Options are skipped. */
export function decodeTcp(octets: Uint8Array, between: AddressPair): Tcp | Malformed {
  if (octets.length < HEADER) return malformedError('truncated');
  const view = toDataView(octets);
  const header = (view.getUint8(12) >> 4) * 4;
  if (header < HEADER) return malformedError('bad-length');
  if (octets.length < header) return malformedError('truncated');
  if (pseudoHeaderChecksum(between, PROTOCOL.tcp, octets) !== 0) return malformedError('bad-checksum');
  return {
    sport: view.getUint16(0),
    dport: view.getUint16(2),
    sequence: view.getUint32(4),
    acknowledged: view.getUint32(8),
    flags: view.getUint8(13),
    window: view.getUint16(14),
    payload: octets.subarray(header),
  };
}

export function encodeTcp(tcp: Tcp, between: AddressPair): Uint8Array {
  const segment = concat(
    u16(tcp.sport),
    u16(tcp.dport),
    u32(tcp.sequence),
    u32(tcp.acknowledged),
    Uint8Array.of((HEADER / 4) << 4, tcp.flags),
    u16(tcp.window),
    u32(0),
    tcp.payload,
  );
  segment.set(u16(pseudoHeaderChecksum(between, PROTOCOL.tcp, segment)), 16);
  return segment;
}
