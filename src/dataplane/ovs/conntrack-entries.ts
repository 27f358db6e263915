// Converts connections between the control socket's format and the one that hosts exchange, and builds the packets that make another switch
// track them. Pure.
import { isIpv6 } from '../packets/address.ts';
import type { PacketOut } from './openflow/mods.ts';
import { buildConntrackPacket, type OriginalTuple } from '../packets/conntrack-packet.ts';
import type { TrackedConnection } from '../switch/switch.ts';
import type { ConntrackEntry } from './unixctl/conntrack.ts';

/** The translated ones, the most valuable first. */
export function toTrackedConnections(entries: readonly ConntrackEntry[]): TrackedConnection[] {
  return entries
    .toSorted((one, other) => rankEntry(other) - rankEntry(one))
    .flatMap((entry) => toTrackedConnection(entry) ?? []);
}

function rankEntry(entry: ConntrackEntry): number {
  return (entry.protocol === 'tcp' && entry.state === 'ESTABLISHED' ? 10 ** 6 : 0) + (entry.timeoutS ?? 0);
}

function toTrackedConnection(entry: ConntrackEntry): TrackedConnection | undefined {
  // A closed connection is not continued.
  if (entry.protocol === 'tcp' && isClosing(entry.state)) return undefined;
  switch (entry.protocol) {
    case 'udp':
    case 'tcp': {
      const { protocol, original, reply } = entry;
      if (original.src === reply.dst) return undefined;
      return { protocol, ...original, natSource: { ip: reply.dst, port: reply.dport } };
    }
    case 'icmp':
    case 'icmpv6': {
      const { original, reply } = entry;
      if (original.src === reply.dst) return undefined;
      return { protocol: 'icmp', ...original, natSource: { ip: reply.dst, port: reply.id } };
    }
    default:
      return undefined;
  }
}

function isClosing(state: string | undefined): boolean {
  return state === 'TIME_WAIT' || state === 'CLOSED' || state === 'CLOSING' || state === 'LAST_ACK';
}

/** One key for one connection, by its original direction. */
export function connectionKey(connection: TrackedConnection): string {
  const { protocol, src, dst } = connection;
  const ends = connection.protocol === 'icmp' ? [connection.id] : [connection.sport, connection.dport];
  return [protocol, src, dst, ...ends].join(' ');
}

export function hasSameNatSource(
  { natSource: one }: TrackedConnection,
  { natSource: other }: TrackedConnection,
): boolean {
  return one.ip === other.ip && one.port === other.port;
}

/**
 * The packet that makes a switch track the connection in a zone with the same translation; it is not forwarded. Undefined when there is
 * none.
 */
export function conntrackPacketOut(zone: number, connection: TrackedConnection): PacketOut | undefined {
  const seed = buildConntrackPacket(originalTupleOf(connection));
  if (seed.kind !== 'seed') return undefined;
  const { ip, port } = connection.natSource;
  const bracketed = isIpv6(ip) ? `[${ip}]` : ip;
  const outside = connection.protocol === 'icmp' ? ip : `${bracketed}:${port}`;
  return { actions: `ct(commit,zone=${zone},nat(src=${outside}))`, data: seed.frame };
}

function originalTupleOf(connection: TrackedConnection): OriginalTuple {
  if (connection.protocol !== 'icmp') return connection;
  return { ...connection, protocol: isIpv6(connection.src) ? 'icmp6' : 'icmp' };
}
