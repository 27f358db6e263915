// Neighbour discovery messages in frames.
import { isMulticast, multicastMacOf } from './address.ts';
import type { AddressPair } from './checksum.ts';
import type { LinkHeader } from './ethernet.ts';
import { decodeIpFrame, encodeIpFrame } from './ip-frame.ts';
import { isMalformed, type Malformed } from './malformed.ts';
import { decodeNd, encodeNd, type NdMessage } from './nd.ts';

export interface NdFrame {
  readonly link: LinkHeader;
  readonly between: AddressPair;
  readonly message: NdMessage;
}

export function decodeNdFrame(octets: Uint8Array): NdFrame | Malformed {
  const frame = decodeIpFrame(octets);
  if (isMalformed(frame)) return frame;
  const message = decodeNd(frame.packet);
  return isMalformed(message) ? message : { link: frame.link, between: frame.packet, message };
}

/** A packet to a group goes to the group's MAC address. */
export function encodeNdFrame({ link, between, message }: NdFrame): Uint8Array {
  const dstMac = isMulticast(between.dst) ? multicastMacOf(between.dst) : link.dstMac;
  return encodeIpFrame({ link: { ...link, dstMac }, packet: encodeNd(message, between) });
}
