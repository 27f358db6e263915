// Echo requests and replies of ICMP and ICMPv6. The addresses say which of the two it is.
import { isIpv6 } from './address.ts';
import { checksum, pseudoHeaderChecksum, type AddressPair } from './checksum.ts';
import { PROTOCOL } from './ipv4.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, toDataView } from './octets.ts';

export const ECHO_TYPE = { icmp: { request: 8, reply: 0 }, icmpv6: { request: 128, reply: 129 } } as const;

export interface Echo {
  readonly kind: 'request' | 'reply';
  readonly id: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

const HEADER = 8;

export function decodeEcho(octets: Uint8Array, between: AddressPair): Echo | Malformed {
  if (octets.length < HEADER) return malformedError('truncated');
  if (echoChecksum(octets, between) !== 0) return malformedError('bad-checksum');
  const view = toDataView(octets);
  const types = typesOf(between);
  const type = view.getUint8(0);
  if ((type !== types.request && type !== types.reply) || view.getUint8(1) !== 0)
    return malformedError('other-protocol');
  return {
    kind: type === types.request ? 'request' : 'reply',
    id: view.getUint16(4),
    sequence: view.getUint16(6),
    payload: octets.subarray(HEADER),
  };
}

export function encodeEcho({ kind, id, sequence, payload }: Echo, between: AddressPair): Uint8Array {
  const message = concat(Uint8Array.of(typesOf(between)[kind], 0, 0, 0), u16(id), u16(sequence), payload);
  message.set(u16(echoChecksum(message, between)), 2);
  return message;
}

function typesOf({ src }: AddressPair): { readonly request: number; readonly reply: number } {
  return isIpv6(src) ? ECHO_TYPE.icmpv6 : ECHO_TYPE.icmp;
}

function echoChecksum(message: Uint8Array, between: AddressPair): number {
  return isIpv6(between.src) ? pseudoHeaderChecksum(between, PROTOCOL.icmpv6, message) : checksum(message);
}
