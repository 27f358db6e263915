// Ethernet II frames, without and with one VLAN tag.
import { macOctets, macText } from './address.ts';
import { malformedError, type Malformed } from './malformed.ts';
import { concat, u16, toDataView } from './octets.ts';

export const ETHER_TYPE = { ipv4: 0x0800, arp: 0x0806, vlan: 0x8100, ipv6: 0x86dd } as const;

/** Source, destination and VLAN: a reply uses the same ones. */
export interface LinkHeader {
  readonly srcMac: string;
  readonly dstMac: string;
  readonly vlan?: number;
}

export interface Ethernet extends LinkHeader {
  readonly etherType: number;
  /** The padding of a short frame is kept: the decoder of the payload has a length of its own. */
  readonly payload: Uint8Array;
}

const HEADER = 14;
const TAG = 4;
/** Smaller numbers are IEEE 802.3 lengths; nothing that is answered here uses them. */
const FIRST_TYPE = 0x600;

export function decodeEthernet(octets: Uint8Array): Ethernet | Malformed {
  if (octets.length < HEADER) return malformedError('truncated');
  // A group address cannot be answered.
  if (((octets[6] ?? 0) & 1) === 1) return malformedError('bad-address');
  const view = toDataView(octets);
  const tagged = view.getUint16(12) === ETHER_TYPE.vlan;
  if (tagged && octets.length < HEADER + TAG) return malformedError('truncated');
  const etherType = view.getUint16(tagged ? 16 : 12);
  // A second tag, or a frame with a length.
  if (etherType < FIRST_TYPE || etherType === ETHER_TYPE.vlan) return malformedError('other-protocol');
  return {
    dstMac: macText(octets.subarray(0, 6)),
    srcMac: macText(octets.subarray(6, 12)),
    ...(tagged ? { vlan: view.getUint16(14) & 0xfff } : {}),
    etherType,
    payload: octets.subarray(tagged ? HEADER + TAG : HEADER),
  };
}

export function encodeEthernet({ srcMac, dstMac, vlan, etherType, payload }: Ethernet): Uint8Array {
  const tag = vlan === undefined ? [] : [u16(ETHER_TYPE.vlan), u16(vlan & 0xfff)];
  return concat(macOctets(dstMac), macOctets(srcMac), ...tag, u16(etherType), payload);
}
