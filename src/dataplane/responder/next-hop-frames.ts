// Resolves an external address and reads the replies. The request comes from a MAC address that only this host has, and from no IPv4
// address: a request with the address and MAC address that hosts share would teach external switches a wrong location.
import { UNSPECIFIED_IPV4, BROADCAST_MAC, isIpv6, linkLocalOf, NO_MAC, solicitedNodeOf } from '../packets/address.ts';
import { decodeArpFrame, encodeArpFrame } from '../packets/arp.ts';
import { isMalformed } from '../packets/malformed.ts';
import { decodeNdFrame, encodeNdFrame } from '../packets/nd-frame.ts';

export interface AddressQuery {
  /** The MAC address of the host itself. */
  readonly mac: string;
  readonly target: string;
}

/** ARP for IPv4, a neighbour solicitation for IPv6. */
export function encodeAddressQuery({ mac, target }: AddressQuery): Uint8Array {
  const link = { srcMac: mac, dstMac: BROADCAST_MAC };
  if (!isIpv6(target)) {
    return encodeArpFrame({
      link,
      arp: { operation: 'request', senderMac: mac, senderIp: UNSPECIFIED_IPV4, targetMac: NO_MAC, targetIp: target },
    });
  }
  // From the host's own link-local address: a solicitation from the unspecified address would claim the address.
  return encodeNdFrame({
    link,
    between: { src: linkLocalOf(mac), dst: solicitedNodeOf(target) },
    message: { kind: 'neighbour-solicitation', target, sourceMac: mac },
  });
}

export interface NeighbourBinding {
  readonly ip: string;
  readonly mac: string;
}

/**
 * The sender's address and MAC address in a reply or an announcement. Requests of others are ignored: any machine may put any sender in them.
 */
export function readBinding(frame: Uint8Array): NeighbourBinding | undefined {
  const arp = decodeArpFrame(frame);
  if (!isMalformed(arp)) {
    const { operation, senderIp, senderMac, targetIp } = arp.arp;
    return operation === 'reply' || senderIp === targetIp ? checkBinding({ ip: senderIp, mac: senderMac }) : undefined;
  }
  const nd = decodeNdFrame(frame);
  if (isMalformed(nd) || nd.message.kind !== 'neighbour-advertisement') return undefined;
  const { target, targetMac = nd.link.srcMac } = nd.message;
  return checkBinding({ ip: target, mac: targetMac });
}

/** A multicast MAC address is no location. */
function checkBinding(said: NeighbourBinding): NeighbourBinding | undefined {
  const first = Number.parseInt(said.mac.slice(0, 2), 16);
  return said.ip === UNSPECIFIED_IPV4 || said.mac === NO_MAC || (first & 1) === 1 ? undefined : said;
}
