// Tells a network that an address is to be found at a MAC address, and when: several times, because nobody says that it was heard.
import { ALL_NODES, BROADCAST_MAC, isIpv6, NO_MAC } from '../packets/address.ts';
import { encodeArpFrame } from '../packets/arp.ts';
import { encodeNdFrame } from '../packets/nd-frame.ts';

export interface AnnouncedAddress {
  readonly ip: string;
  readonly mac: string;
  /** Of IPv6: whether others may send through it. */
  readonly router?: boolean;
  /** Another host sends from it as well for a while: it is announced anew when that is over. */
  readonly shared?: boolean;
}

/** Of IPv4 in both forms, request and reply: some listen to the one and some to the other. */
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

/** After the address came here. */
const ANNOUNCE_AFTER_MS: readonly number[] = [0, 200, 1000, 3000];

export interface AnnouncementState {
  readonly sinceMs: number;
  /** How many of the times are behind it. */
  readonly sent: number;
}

export type NextAnnouncement =
  | { readonly kind: 'now'; readonly after: AnnouncementState }
  | { readonly kind: 'at'; readonly atMs: number }
  | { readonly kind: 'over' };

/** What to do now. Times that were missed are made good for by one announcement, not by many at once. */
export function nextAnnouncement({ sinceMs, sent }: AnnouncementState, nowMs: number): NextAnnouncement {
  const afterMs = ANNOUNCE_AFTER_MS[sent];
  if (afterMs === undefined) return { kind: 'over' };
  if (nowMs < sinceMs + afterMs) return { kind: 'at', atMs: sinceMs + afterMs };
  const past = ANNOUNCE_AFTER_MS.filter((eachMs) => sinceMs + eachMs <= nowMs).length;
  return { kind: 'now', after: { sinceMs, sent: past } };
}
