// Synthetic packets that make a switch track a connection: one packet of the original direction for each entry of another switch's
// conntrack. They must never be sent to a network.
import { isIpv6 } from './address.ts';
import type { AddressPair } from './checksum.ts';
import { ECHO_TYPE, encodeEcho } from './echo.ts';
import type { LinkHeader } from './ethernet.ts';
import { encodeIpFrame } from './ip-frame.ts';
import { PROTOCOL } from './ipv4.ts';
import { encodeTcp, TCP_FLAG } from './tcp.ts';
import { encodeUdp } from './udp.ts';

/** The original direction of a connection. */
export type OriginalTuple =
  | (AddressPair & { readonly protocol: 'udp' | 'tcp'; readonly sport: number; readonly dport: number })
  | (AddressPair & {
      readonly protocol: 'icmp' | 'icmp6';
      readonly id: number;
      readonly type: number;
      readonly code: number;
    });

export type ConntrackPacket =
  | { readonly kind: 'seed'; readonly frame: Uint8Array }
  /** Only an echo can be started by a packet without effect. */
  | { readonly kind: 'unseedable'; readonly code: 'mixed-addresses' | 'not-an-echo' };

/** Unused addresses: the packet enters connection tracking and goes no further. */
const UNUSED_ADDRESSES: LinkHeader = { srcMac: '02:00:00:00:00:01', dstMac: '02:00:00:00:00:02' };
const TTL = 64;
const NOTHING = new Uint8Array();
/** A window that later packets of the connection are unlikely to leave. */
const WINDOW = 0xffff;

export function buildConntrackPacket(connection: OriginalTuple, link: LinkHeader = UNUSED_ADDRESSES): ConntrackPacket {
  const six = isIpv6(connection.src);
  const icmpOfOther = connection.protocol === 'icmp' ? six : connection.protocol === 'icmp6' && !six;
  if (six !== isIpv6(connection.dst) || icmpOfOther) return { kind: 'unseedable', code: 'mixed-addresses' };
  const segment = segmentOf(connection);
  if (segment === undefined) return { kind: 'unseedable', code: 'not-an-echo' };
  const { src, dst } = connection;
  return { kind: 'seed', frame: encodeIpFrame({ link, packet: { src, dst, ttl: TTL, ...segment } }) };
}

function segmentOf(connection: OriginalTuple): { readonly protocol: number; readonly payload: Uint8Array } | undefined {
  switch (connection.protocol) {
    case 'udp': {
      const { sport, dport } = connection;
      return { protocol: PROTOCOL.udp, payload: encodeUdp({ sport, dport, payload: NOTHING }, connection) };
    }
    case 'tcp': {
      const { sport, dport } = connection;
      const tcp = { sport, dport, sequence: 0, acknowledged: 0, flags: TCP_FLAG.ack, window: WINDOW, payload: NOTHING };
      return { protocol: PROTOCOL.tcp, payload: encodeTcp(tcp, connection) };
    }
    case 'icmp':
    case 'icmp6': {
      const [types, protocol] =
        connection.protocol === 'icmp' ? [ECHO_TYPE.icmp, PROTOCOL.icmp] : [ECHO_TYPE.icmpv6, PROTOCOL.icmpv6];
      if (connection.type !== types.request || connection.code !== 0) return undefined;
      const echo = { kind: 'request', id: connection.id, sequence: 0, payload: NOTHING } as const;
      return { protocol, payload: encodeEcho(echo, connection) };
    }
  }
}
