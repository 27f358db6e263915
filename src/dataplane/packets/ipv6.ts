// IPv6 headers. One hop-by-hop header is skipped (multicast listeners send it); every other extension is refused.
import { ipOctets, ipText, isMulticast } from './address.ts';
import type { IpPacket } from './ipv4.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, toDataView } from './octets.ts';

const HEADER = 40;
const HOP_BY_HOP = 0;
const FRAGMENT = 44;
/** Routing, encapsulation, authentication, destination options, mobility, host identity, shim, experiments. */
const EXTENSIONS = new Set([HOP_BY_HOP, 43, 50, 51, 60, 135, 139, 140, 253, 254]);

export function decodeIpv6(octets: Uint8Array): IpPacket | Malformed {
  if (octets.length < HEADER) return malformedError('truncated');
  const view = toDataView(octets);
  if (view.getUint8(0) >> 4 !== 6) return malformedError('bad-version');
  const end = HEADER + view.getUint16(4);
  if (octets.length < end) return malformedError('truncated');
  const within = upperLayer(octets.subarray(HEADER, end), view.getUint8(6));
  if ('malformed' in within) return within;
  const src = ipText(octets.subarray(8, 24));
  // A group address cannot be answered.
  if (isMulticast(src)) return malformedError('bad-address');
  return {
    src,
    dst: ipText(octets.subarray(24, 40)),
    ttl: view.getUint8(7),
    ...within,
  };
}

function upperLayer(rest: Uint8Array, next: number): Pick<IpPacket, 'protocol' | 'payload'> | Malformed {
  if (next !== HOP_BY_HOP) return extensionProblem(next) ?? { protocol: next, payload: rest };
  const [protocol, length] = rest;
  if (protocol === undefined || length === undefined) return malformedError('truncated');
  const skipped = (length + 1) * 8;
  if (rest.length < skipped) return malformedError('truncated');
  return extensionProblem(protocol) ?? { protocol, payload: rest.subarray(skipped) };
}

function extensionProblem(next: number): Malformed | undefined {
  if (next === FRAGMENT) return malformedError('fragment');
  return EXTENSIONS.has(next) ? malformedError('extension-header') : undefined;
}

export function encodeIpv6({ src, dst, protocol, ttl, payload }: IpPacket): Uint8Array {
  return concat(
    Uint8Array.of(0x60, 0, 0, 0),
    u16(payload.length),
    Uint8Array.of(protocol, ttl),
    ipOctets(src),
    ipOctets(dst),
    payload,
  );
}
