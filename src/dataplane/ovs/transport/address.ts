// Where a daemon listens, in the words of Open vSwitch: `unix:/path`, `tcp:host:port`, `tcp:[2001:db8::1]:6640`.
import { BadAddress } from './failures.ts';

export type SocketAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** The kernel keeps 108 bytes for the name of a socket, and the last one is zero. A longer name would be cut in silence. */
const UNIX_PATH_BYTES_MAX = 107;

const TCP = /^tcp:(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([^\s:[\]]+)):(\d{1,5})$/;

export function parseAddress(text: string): SocketAddress {
  if (text.startsWith('unix:')) return unix(text);
  const [, bracketed, plain, digits] = TCP.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || !(port >= 1 && port <= 65_535)) {
    throw new BadAddress(`${JSON.stringify(text)} is not an address: give unix:/path or tcp:host:port`);
  }
  return { kind: 'tcp', host, port };
}

function unix(text: string): SocketAddress {
  const path = text.slice('unix:'.length);
  if (!path.startsWith('/') || path.includes('\0')) {
    throw new BadAddress(`${JSON.stringify(text)} is not an address: the path of a socket begins with /`);
  }
  const bytes = new TextEncoder().encode(path).length;
  if (bytes > UNIX_PATH_BYTES_MAX) {
    throw new BadAddress(`the path of a socket has at most ${UNIX_PATH_BYTES_MAX} bytes, ${path} has ${bytes}`);
  }
  return { kind: 'unix', path };
}
