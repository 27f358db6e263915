// Whether an address is this machine itself. It is decided by the address, never by how a name begins: 127.evil.example is a
// name in a DNS zone of others. The command line, the server's listen check and the agent all use this; no name is resolved.
import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** A host as it is in a URL or in a listen address: `localhost`, an IPv4 address, an IPv6 address with or without brackets. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  const address = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  const family = isIP(address);
  // An IPv4 address that is mapped into IPv6 counts as what it stands for.
  return family !== 0 && LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
