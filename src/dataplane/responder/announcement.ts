// Announces to a network that an address is at a MAC address, several times, because announcements are not acknowledged.
import { ALL_NODES, BROADCAST_MAC, isIpv6, NO_MAC } from '../packets/address.ts';
import { encodeArpFrame } from '../packets/arp.ts';
import { encodeNdFrame } from '../packets/nd-frame.ts';

export interface AnnouncedAddress {
  readonly ip: string;
  readonly mac: string;
  /** For IPv6: whether it is a router. */
  readonly router?: boolean;
  /** Another host sends from it as well for a while: it is announced again afterwards. */
  readonly shared?: boolean;
}

/** For IPv4 as ARP request and as ARP reply: some hosts accept only one of the two. */
export function announcementFrames(announced: AnnouncedAddress): readonly Uint8Array[] {
  if (isIpv6(announced.ip)) return [neighbourAnnouncement(announced)];
  return [arpAnnouncement(announced, 'request'), arpAnnouncement(announced, 'reply')];
}

function arpAnnouncement({ ip, mac }: AnnouncedAddress, form: 'request' | 'reply'): Uint8Array {
  const targetMac = form === 'request' ? NO_MAC : mac;
  return encodeArpFrame({
    link: { srcMac: mac, dstMac: BROADCAST_MAC },
    arp: { operation: form, senderMac: mac, senderIp: ip, targetMac, targetIp: ip },
  });
}

function neighbourAnnouncement({ ip, mac, router = false }: AnnouncedAddress): Uint8Array {
  return encodeNdFrame({
    link: { srcMac: mac, dstMac: BROADCAST_MAC },
    between: { src: ip, dst: ALL_NODES },
    message: { kind: 'neighbour-advertisement', target: ip, router, solicited: false, override: true, targetMac: mac },
  });
}

/** Delays after the address was placed here. */
const ANNOUNCE_AFTER_MS: readonly number[] = [0, 200, 1000, 3000];

export interface AnnouncementState {
  readonly sinceMs: number;
  /** How many of the announcements are done. */
  readonly sent: number;
}

export type NextAnnouncement =
  | { readonly kind: 'now'; readonly after: AnnouncementState }
  | { readonly kind: 'at'; readonly atMs: number }
  | { readonly kind: 'done' };

/** What to do now. Several missed announcements are made up for by one. */
export function nextAnnouncement({ sinceMs, sent }: AnnouncementState, nowMs: number): NextAnnouncement {
  const afterMs = ANNOUNCE_AFTER_MS[sent];
  if (afterMs === undefined) return { kind: 'done' };
  if (nowMs < sinceMs + afterMs) return { kind: 'at', atMs: sinceMs + afterMs };
  const past = ANNOUNCE_AFTER_MS.filter((eachMs) => sinceMs + eachMs <= nowMs).length;
  return { kind: 'now', after: { sinceMs, sent: past } };
}
