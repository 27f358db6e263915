// DHCP options (RFC 2132): as octets by code, and those that are read or written here as values.
import { ipOctets, ipText, parsePrefix } from './address.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, toDataView } from './octets.ts';

/** By code. The order is the order on the wire. */
export type DhcpOptions = ReadonlyMap<number, Uint8Array>;

export const DHCP_OPTION = {
  pad: 0,
  mask: 1,
  router: 3,
  dns: 6,
  hostname: 12,
  domain: 15,
  mtu: 26,
  requested: 50,
  leaseS: 51,
  overload: 52,
  type: 53,
  serverId: 54,
  parameters: 55,
  message: 56,
  maximumSize: 57,
  renewS: 58,
  rebindS: 59,
  clientId: 61,
  relay: 82,
  routes: 121,
  end: 255,
} as const;

/** Adds the options of one field. An option that occurs more than once is one long option (RFC 3396). */
export function addOptions(field: Uint8Array, options: Map<number, Uint8Array>): Malformed | undefined {
  let at = 0;
  while (at < field.length) {
    const code = field[at] ?? DHCP_OPTION.end;
    if (code === DHCP_OPTION.end) return undefined;
    at += 1;
    if (code === DHCP_OPTION.pad) continue;
    const length = field[at];
    if (length === undefined || at + 1 + length > field.length) return malformedError('bad-option');
    const octets = field.subarray(at + 1, at + 1 + length);
    const before = options.get(code);
    options.set(code, before === undefined ? octets : concat(before, octets));
    at += 1 + length;
  }
  // Some clients omit the end option.
  return undefined;
}

const LONGEST = 255;

/** One option on the wire; a long one is split. */
export function encodeOption(code: number, octets: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < octets.length; at += LONGEST) {
    const piece = octets.subarray(at, at + LONGEST);
    pieces.push(Uint8Array.of(code, piece.length), piece);
  }
  return concat(...pieces);
}

const TYPES = ['discover', 'offer', 'request', 'decline', 'ack', 'nak', 'release', 'inform'] as const;

export type DhcpType = (typeof TYPES)[number];

export function typeOption(type: DhcpType): Uint8Array {
  return Uint8Array.of(TYPES.indexOf(type) + 1);
}

export function typeIn(options: DhcpOptions): DhcpType | undefined {
  const octets = options.get(DHCP_OPTION.type);
  return octets?.length === 1 ? TYPES[(octets[0] ?? 0) - 1] : undefined;
}

/** The options of a client; undefined for a code that it did not send or sent with another length. */
export function addressIn(options: DhcpOptions, code: number): string | undefined {
  const octets = options.get(code);
  return octets?.length === 4 ? ipText(octets) : undefined;
}

export function maximumSizeIn(options: DhcpOptions): number | undefined {
  const octets = options.get(DHCP_OPTION.maximumSize);
  return octets?.length === 2 ? toDataView(octets).getUint16(0) : undefined;
}

/** The codes that the client requests; undefined when it requests none. */
export function parametersIn(options: DhcpOptions): ReadonlySet<number> | undefined {
  const octets = options.get(DHCP_OPTION.parameters);
  return octets === undefined ? undefined : new Set(octets);
}

/** Input of a client is not trusted: it may contain anything. */
export function textIn(options: DhcpOptions, code: number): string | undefined {
  const octets = options.get(code);
  return octets === undefined ? undefined : String.fromCharCode(...octets.subarray(0, LONGEST)).replace(/\0+$/, '');
}

/** Only ASCII is allowed in an option. */
export function textOption(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => (letter.charCodeAt(0) > 126 ? 0x3f : letter.charCodeAt(0)));
}

export function addressesOption(ips: readonly string[]): Uint8Array {
  return concat(...ips.map(ipOctets));
}

export interface DhcpRoute {
  readonly cidr: string;
  readonly via: string;
}

/** Routes as in RFC 3442: prefix length, the significant octets of the prefix, next hop. */
export function routesOption(routes: readonly DhcpRoute[]): Uint8Array {
  return concat(
    ...routes.flatMap(({ cidr, via }) => {
      const { address, length } = parsePrefix(cidr);
      return [Uint8Array.of(length), ipOctets(address).subarray(0, Math.ceil(length / 8)), ipOctets(via)];
    }),
  );
}
