// The one-line form of a translated connection, as it is sent from one switch to another: `udp 10.0.0.5 4000 192.0.2.9 53 198.51.100.7
// 1024` is protocol, source, destination, and the external source. A host may have tens of thousands.
import type { TrackedConnection } from './switch.ts';

const ADDRESS = '[0-9a-f:.]{2,45}';
const NUMBER = '[0-9]{1,5}';

/** The pattern of a line; the numbers in it are validated when it is parsed. */
export const CONNECTION_PATTERN = `^(udp|tcp|icmp) ${ADDRESS} ${NUMBER} ${ADDRESS} ${NUMBER} ${ADDRESS} ${NUMBER}$`;

/** For echo: its id takes the place of the source port, its type and code that of the destination port. */
export function formatConnection(connection: TrackedConnection): string {
  const { protocol, src, dst, natSource } = connection;
  const [from, to] =
    protocol === 'icmp'
      ? [connection.id, connection.type * 256 + connection.code]
      : [connection.sport, connection.dport];
  return `${protocol} ${src} ${from} ${dst} ${to} ${natSource.ip} ${natSource.port}`;
}

const PORT_MAX = 65_535;

const CONNECTION = new RegExp(CONNECTION_PATTERN, 'u');

/** Undefined when it is not one. */
export function parseConnection(text: string): TrackedConnection | undefined {
  if (!CONNECTION.test(text)) return undefined;
  const [protocol, src = '', from, dst = '', to, ip = '', port] = text.split(' ');
  const [first = 0, second = 0, natPort = 0] = [from, to, port].map(Number);
  if (Math.max(first, second, natPort) > PORT_MAX) return undefined;
  const ends = { src, dst, natSource: { ip, port: natPort } };
  switch (protocol) {
    case 'udp':
    case 'tcp':
      return { protocol, ...ends, sport: first, dport: second };
    case 'icmp':
      return { protocol, ...ends, id: first, type: second >> 8, code: second & 0xff };
    default:
      return undefined;
  }
}
