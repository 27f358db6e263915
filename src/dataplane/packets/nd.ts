// Neighbour discovery (RFC 4861): solicitations and advertisements of neighbours and of routers, with their options. Messages that violate
// the validity rules of that RFC are refused here, so that responders need not check them.
import {
  ipOctets,
  ipText,
  isLinkLocal,
  isMulticast,
  macOctets,
  macText,
  parsePrefix,
  solicitedNodeOf,
  UNSPECIFIED,
} from './address.ts';
import { pseudoHeaderChecksum, type AddressPair } from './checksum.ts';
import { PROTOCOL, type IpPacket } from './ipv4.ts';
import { isMalformed, malformedError, type Malformed } from './malformed.ts';
import { concat, u16, u32, toDataView } from './octets.ts';
import { decodeOptions, OPTION, type NdOption } from './nd-options.ts';

export interface NeighbourSolicitation {
  readonly kind: 'neighbour-solicitation';
  readonly target: string;
  readonly sourceMac?: string;
}

export interface NeighbourAdvertisement {
  readonly kind: 'neighbour-advertisement';
  readonly target: string;
  readonly router: boolean;
  readonly solicited: boolean;
  readonly override: boolean;
  readonly targetMac?: string;
}

export interface RouterSolicitation {
  readonly kind: 'router-solicitation';
  readonly sourceMac?: string;
}

export interface RouterAdvertisement {
  readonly kind: 'router-advertisement';
  /** The hop limit that hosts use for packets they send; 0 leaves it unspecified. */
  readonly hopLimit: number;
  /** Addresses are assigned by DHCPv6, not formed from the prefix. */
  readonly managed: boolean;
  /** Other configuration comes by DHCPv6. */
  readonly other: boolean;
  /** How long this is a default router; 0: it is none. */
  readonly lifetimeS: number;
  readonly sourceMac?: string;
  readonly mtu?: number;
  readonly prefixes: readonly AdvertisedPrefix[];
}

export interface AdvertisedPrefix {
  readonly cidr: string;
  readonly onLink: boolean;
  readonly autonomous: boolean;
  readonly validS: number;
  readonly preferredS: number;
}

export type NdMessage = NeighbourSolicitation | NeighbourAdvertisement | RouterSolicitation | RouterAdvertisement;

/** Only a packet of a neighbour arrives with it: every router decrements it. */
const ND_HOP_LIMIT = 255;

const TYPE = {
  'router-solicitation': 133,
  'router-advertisement': 134,
  'neighbour-solicitation': 135,
  'neighbour-advertisement': 136,
} as const;

/** Where the options begin. */
const FIXED: Readonly<Record<number, number>> = { 133: 8, 134: 16, 135: 24, 136: 24 };

const NA_FLAG = { router: 0x80, solicited: 0x40, override: 0x20 } as const;
const RA_FLAG = { managed: 0x80, other: 0x40 } as const;
const PREFIX_FLAG = { onLink: 0x80, autonomous: 0x40 } as const;

export function decodeNd(packet: IpPacket): NdMessage | Malformed {
  const { payload: octets } = packet;
  if (packet.protocol !== PROTOCOL.icmpv6) return malformedError('other-protocol');
  const [type = 0, code = 0] = octets;
  const fixed = FIXED[type];
  if (fixed === undefined) return malformedError(octets.length < 4 ? 'truncated' : 'other-protocol');
  if (octets.length < fixed) return malformedError('truncated');
  if (packet.ttl !== ND_HOP_LIMIT) return malformedError('bad-hop-limit');
  if (pseudoHeaderChecksum(packet, PROTOCOL.icmpv6, octets) !== 0) return malformedError('bad-checksum');
  if (code !== 0) return malformedError('other-protocol');
  const options = decodeOptions(octets.subarray(fixed));
  if (isMalformed(options)) return options;
  const message = messageOf(type, octets, options);
  return hasValidAddresses(message, packet) ? message : malformedError('bad-address');
}

function messageOf(type: number, octets: Uint8Array, options: readonly NdOption[]): NdMessage {
  const view = toDataView(octets);
  const source = macIn(options, OPTION.sourceMac);
  const sourceMac = source === undefined ? {} : { sourceMac: source };
  if (type === TYPE['router-solicitation']) return { kind: 'router-solicitation', ...sourceMac };
  if (type === TYPE['router-advertisement']) return { ...routerAdvertisement(view, options), ...sourceMac };
  const target = ipText(octets.subarray(8, 24));
  if (type === TYPE['neighbour-solicitation']) return { kind: 'neighbour-solicitation', target, ...sourceMac };
  const flags = view.getUint8(4);
  const targetMac = macIn(options, OPTION.targetMac);
  return {
    kind: 'neighbour-advertisement',
    target,
    router: (flags & NA_FLAG.router) !== 0,
    solicited: (flags & NA_FLAG.solicited) !== 0,
    override: (flags & NA_FLAG.override) !== 0,
    ...(targetMac === undefined ? {} : { targetMac }),
  };
}

function routerAdvertisement(view: DataView, options: readonly NdOption[]): RouterAdvertisement {
  const flags = view.getUint8(5);
  const mtu = options.find(({ type, octets }) => type === OPTION.mtu && octets.length === 6);
  return {
    kind: 'router-advertisement',
    hopLimit: view.getUint8(4),
    managed: (flags & RA_FLAG.managed) !== 0,
    other: (flags & RA_FLAG.other) !== 0,
    lifetimeS: view.getUint16(6),
    ...(mtu === undefined ? {} : { mtu: toDataView(mtu.octets).getUint32(2) }),
    prefixes: options.flatMap(prefixIn),
  };
}

/** The octets of an option, without its type and length. */
function prefixIn({ type, octets }: NdOption): AdvertisedPrefix[] {
  if (type !== OPTION.prefix || octets.length !== 30) return [];
  const view = toDataView(octets);
  const [length, flags] = [view.getUint8(0), view.getUint8(1)];
  if (length > 128) return [];
  return [
    {
      cidr: `${ipText(octets.subarray(14, 30))}/${length}`,
      onLink: (flags & PREFIX_FLAG.onLink) !== 0,
      autonomous: (flags & PREFIX_FLAG.autonomous) !== 0,
      validS: view.getUint32(2),
      preferredS: view.getUint32(6),
    },
  ];
}

function macIn(options: readonly NdOption[], wanted: number): string | undefined {
  const found = options.find(({ type, octets }) => type === wanted && octets.length === 6);
  return found === undefined ? undefined : macText(found.octets);
}

/** The address rules of RFC 4861 (6.1 and 7.1) for each message. */
function hasValidAddresses(message: NdMessage, { src, dst }: AddressPair): boolean {
  switch (message.kind) {
    case 'router-solicitation':
      return src !== UNSPECIFIED || message.sourceMac === undefined;
    case 'router-advertisement':
      return isLinkLocal(src);
    case 'neighbour-solicitation':
      if (isMulticast(message.target)) return false;
      return src !== UNSPECIFIED || (message.sourceMac === undefined && dst === solicitedNodeOf(message.target));
    case 'neighbour-advertisement':
      return !isMulticast(message.target) && !(message.solicited && isMulticast(dst));
  }
}

/** The packet that carries a message. */
export function encodeNd(message: NdMessage, between: AddressPair): IpPacket {
  const payload = concat(Uint8Array.of(TYPE[message.kind], 0, 0, 0), bodyOf(message));
  payload.set(u16(pseudoHeaderChecksum(between, PROTOCOL.icmpv6, payload)), 2);
  return { src: between.src, dst: between.dst, protocol: PROTOCOL.icmpv6, ttl: ND_HOP_LIMIT, payload };
}

function bodyOf(message: NdMessage): Uint8Array {
  switch (message.kind) {
    case 'router-solicitation':
      return concat(u32(0), macOption(OPTION.sourceMac, message.sourceMac));
    case 'neighbour-solicitation':
      return concat(u32(0), ipOctets(message.target), macOption(OPTION.sourceMac, message.sourceMac));
    case 'neighbour-advertisement': {
      const { router, solicited, override } = message;
      const flags = bits(NA_FLAG, { router, solicited, override });
      return concat(
        Uint8Array.of(flags, 0, 0, 0),
        ipOctets(message.target),
        macOption(OPTION.targetMac, message.targetMac),
      );
    }
    case 'router-advertisement':
      return routerBody(message);
  }
}

function routerBody(message: RouterAdvertisement): Uint8Array {
  const { hopLimit, managed, other, lifetimeS, sourceMac, mtu, prefixes } = message;
  return concat(
    Uint8Array.of(hopLimit, bits(RA_FLAG, { managed, other })),
    u16(lifetimeS),
    // Reachable time and retransmission timer: unspecified.
    u32(0),
    u32(0),
    macOption(OPTION.sourceMac, sourceMac),
    mtu === undefined ? new Uint8Array() : concat(Uint8Array.of(OPTION.mtu, 1, 0, 0), u32(mtu)),
    ...prefixes.map(prefixOption),
  );
}

function prefixOption({ cidr, onLink, autonomous, validS, preferredS }: AdvertisedPrefix): Uint8Array {
  const { address, length } = parsePrefix(cidr);
  return concat(
    Uint8Array.of(OPTION.prefix, 4, length, bits(PREFIX_FLAG, { onLink, autonomous })),
    u32(validS),
    u32(preferredS),
    u32(0),
    ipOctets(address),
  );
}

function macOption(type: number, mac: string | undefined): Uint8Array {
  return mac === undefined ? new Uint8Array() : concat(Uint8Array.of(type, 1), macOctets(mac));
}

function bits<F extends string>(flags: Readonly<Record<F, number>>, set: Readonly<Record<F, boolean>>): number {
  return (Object.keys(flags) as F[]).reduce((sum, flag) => (set[flag] ? sum | flags[flag] : sum), 0);
}
