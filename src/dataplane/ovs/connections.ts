// Connections between the words of the control socket and those that hosts hand over to each other; and the packets that make another
// switch know them. Pure.
import type { PacketOut } from '../openflow/mods.ts';
import { seedFor, type Connection } from '../packets/seed.ts';
import type { TrackedConnection } from '../switch.ts';
import type { ConntrackEntry } from '../unixctl/conntrack.ts';
import { isV6 } from '../words.ts';

/** Those that are translated, the ones first that are worth most. */
export function trackedIn(entries: readonly ConntrackEntry[]): TrackedConnection[] {
  return entries.toSorted((one, other) => worth(other) - worth(one)).flatMap((entry) => tracked(entry) ?? []);
}

function worth(entry: ConntrackEntry): number {
  return (entry.protocol === 'tcp' && entry.state === 'ESTABLISHED' ? 10 ** 6 : 0) + (entry.timeoutS ?? 0);
}

function tracked(entry: ConntrackEntry): TrackedConnection | undefined {
  // Nobody goes on with a connection that is over.
  if (entry.protocol === 'tcp' && isOver(entry.state)) return undefined;
  switch (entry.protocol) {
    case 'udp':
    case 'tcp': {
      const { protocol, original, reply } = entry;
      if (original.src === reply.dst) return undefined;
      return { protocol, ...original, outside: { ip: reply.dst, port: reply.dport } };
    }
    case 'icmp':
    case 'icmpv6': {
      const { original, reply } = entry;
      if (original.src === reply.dst) return undefined;
      return { protocol: 'icmp', ...original, outside: { ip: reply.dst, port: reply.id } };
    }
    default:
      return undefined;
  }
}

function isOver(state: string | undefined): boolean {
  return state === 'TIME_WAIT' || state === 'CLOSED' || state === 'CLOSING' || state === 'LAST_ACK';
}

/** One key for one connection, as it was begun. */
export function connectionKey(connection: TrackedConnection): string {
  const { protocol, src, dst } = connection;
  const ends = connection.protocol === 'icmp' ? [connection.id] : [connection.sport, connection.dport];
  return [protocol, src, dst, ...ends].join(' ');
}

export function isSameOutside({ outside: one }: TrackedConnection, { outside: other }: TrackedConnection): boolean {
  return one.ip === other.ip && one.port === other.port;
}

/** The packet that makes a switch track it in a zone, translated as it was; it goes no further. Undefined when there is none. */
export function seedPacket(zone: number, connection: TrackedConnection): PacketOut | undefined {
  const seed = seedFor(begun(connection));
  if (seed.kind !== 'seed') return undefined;
  const { ip, port } = connection.outside;
  const bracketed = isV6(ip) ? `[${ip}]` : ip;
  const outside = connection.protocol === 'icmp' ? ip : `${bracketed}:${port}`;
  return { actions: `ct(commit,zone=${zone},nat(src=${outside}))`, data: seed.frame };
}

function begun(connection: TrackedConnection): Connection {
  if (connection.protocol !== 'icmp') return connection;
  return { ...connection, protocol: isV6(connection.src) ? 'icmp6' : 'icmp' };
}
