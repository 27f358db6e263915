// The tables of the pipeline by name, and the ports of the integration bridge that are not an instance's. A flow names a table
// by these words only. What each table is for is said here once; the documentation is generated from it.

export const TABLE = {
  classify: 0,
  arrivals: 5,
  ingress: 10,
  neighbour: 12,
  route: 15,
  deliver: 20,
  outbound: 30,
  known: 32,
  translated: 35,
  restored: 40,
} as const;

export const TABLE_PURPOSES: Readonly<Record<keyof typeof TABLE, string>> = {
  classify: 'where a packet comes from: an instance, a peer, outside',
  arrivals: 'what a packet from a peer is about, by its tunnel key',
  ingress: 'what an instance sends: answers to ARP, neighbour discovery and DHCP, its gateway, its own network',
  neighbour: 'the second half of an answer to IPv6 neighbour discovery',
  route: 'between the subnets of a router, and from them to the way out',
  deliver: 'to a local port, or to the peer that has it; to all of them what is for all',
  outbound: 'the way out of a router: here, or at the host that is designated',
  known: 'during a hand-over: whether a connection is translated here, or by the end that gives out ports',
  translated: 'after source NAT',
  restored: 'after a reply was translated back',
};

/** Where a packet goes on once its connection was looked up: for the switch that is another packet, and cached apart. */
export const TRACKED_TABLES: ReadonlySet<number> = new Set([TABLE.known, TABLE.translated, TABLE.restored]);

/** One flow-based port for all peers: the peer is in the flow. */
export const TUNNEL_PORT = '"muster-tun"';
export const EXTERNAL_PORT = '"muster-ext"';
