// ARP for IPv4 on Ethernet.
import { ipOctets, ipText, macOctets, macText } from './address.ts';
import { decodeEthernet, encodeEthernet, ETHER_TYPE, type LinkHeader } from './ethernet.ts';
import { isMalformed, malformedError, type Malformed } from './malformed.ts';
import { concat, u16, toDataView } from './octets.ts';

export interface Arp {
  readonly operation: 'request' | 'reply';
  readonly senderMac: string;
  readonly senderIp: string;
  readonly targetMac: string;
  readonly targetIp: string;
}

const LENGTH = 28;
const REQUEST = 1;
const REPLY = 2;
const ETHERNET = 1;
/** Six octets of MAC address, four of IPv4 address. */
const SIZES = 0x0604;

export function decodeArp(octets: Uint8Array): Arp | Malformed {
  if (octets.length < LENGTH) return malformedError('truncated');
  const view = toDataView(octets);
  const forUs = view.getUint16(0) === ETHERNET && view.getUint16(2) === ETHER_TYPE.ipv4;
  if (!forUs) return malformedError('other-protocol');
  if (view.getUint16(4) !== SIZES) return malformedError('bad-length');
  const operation = view.getUint16(6);
  if (operation !== REQUEST && operation !== REPLY) return malformedError('other-protocol');
  return {
    operation: operation === REQUEST ? 'request' : 'reply',
    senderMac: macText(octets.subarray(8, 14)),
    senderIp: ipText(octets.subarray(14, 18)),
    targetMac: macText(octets.subarray(18, 24)),
    targetIp: ipText(octets.subarray(24, 28)),
  };
}

function encodeArp(arp: Arp): Uint8Array {
  return concat(
    u16(ETHERNET),
    u16(ETHER_TYPE.ipv4),
    u16(SIZES),
    u16(arp.operation === 'request' ? REQUEST : REPLY),
    macOctets(arp.senderMac),
    ipOctets(arp.senderIp),
    macOctets(arp.targetMac),
    ipOctets(arp.targetIp),
  );
}

export interface ArpFrame {
  readonly link: LinkHeader;
  readonly arp: Arp;
}

export function decodeArpFrame(octets: Uint8Array): ArpFrame | Malformed {
  const link = decodeEthernet(octets);
  if (isMalformed(link)) return link;
  if (link.etherType !== ETHER_TYPE.arp) return malformedError('other-protocol');
  const arp = decodeArp(link.payload);
  return isMalformed(arp) ? arp : { link, arp };
}

export function encodeArpFrame({ link, arp }: ArpFrame): Uint8Array {
  return encodeEthernet({ ...link, etherType: ETHER_TYPE.arp, payload: encodeArp(arp) });
}
