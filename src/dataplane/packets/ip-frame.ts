// Packets of either version in their frames.
import { isIpv6 } from './address.ts';
import { decodeEthernet, encodeEthernet, ETHER_TYPE, type LinkHeader } from './ethernet.ts';
import { decodeIpv4, encodeIpv4, type IpPacket } from './ipv4.ts';
import { decodeIpv6, encodeIpv6 } from './ipv6.ts';
import { isMalformed, malformedError, type Malformed } from './malformed.ts';

export interface IpFrame {
  readonly link: LinkHeader;
  readonly packet: IpPacket;
}

export function decodeIpFrame(octets: Uint8Array): IpFrame | Malformed {
  const link = decodeEthernet(octets);
  if (isMalformed(link)) return link;
  const packet = decodePacket(link.etherType, link.payload);
  return isMalformed(packet) ? packet : { link, packet };
}

function decodePacket(etherType: number, payload: Uint8Array): IpPacket | Malformed {
  if (etherType === ETHER_TYPE.ipv4) return decodeIpv4(payload);
  return etherType === ETHER_TYPE.ipv6 ? decodeIpv6(payload) : malformedError('other-protocol');
}

export function encodeIpFrame({ link, packet }: IpFrame): Uint8Array {
  return isIpv6(packet.src)
    ? encodeEthernet({ ...link, etherType: ETHER_TYPE.ipv6, payload: encodeIpv6(packet) })
    : encodeEthernet({ ...link, etherType: ETHER_TYPE.ipv4, payload: encodeIpv4(packet) });
}
