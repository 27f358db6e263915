// The tables of the pipeline by name, and the ports of the integration bridge that are not an instance's. A flow names a table
// by these words only. What each table is for is said here once; the documentation is generated from it.

export const TABLE = {
  classify: 0,
  tunnel: 5,
  ingress: 10,
  neighbour: 12,
  route: 15,
  deliver: 20,
  outbound: 30,
  conntrack: 32,
  snat: 35,
  unsnat: 40,
} as const;

export const TABLE_PURPOSES: Readonly<Record<keyof typeof TABLE, string>> = {
  classify: 'where a packet comes from: an instance, a peer, outside',
  tunnel: 'what a packet from a peer is about, by its tunnel key',
  ingress: 'what an instance sends: answers to ARP, neighbour discovery and DHCP, its gateway, its own network',
  neighbour: 'the second half of an answer to IPv6 neighbour discovery',
  route: 'between the subnets of a router, and from them to the way out',
  deliver: 'to a local port, or to the peer that has it; to all of them what is for all',
  outbound: 'the way out of a router: here, or at the host that is designated',
  conntrack: 'during a hand-over: whether a connection is translated here, or by the end that gives out ports',
  snat: 'after source NAT',
  unsnat: 'after a reply was translated back',
};

/** Where a packet goes on once its connection was looked up: for the switch that is another packet, and cached apart. */
export const RECIRCULATED_TABLES: ReadonlySet<number> = new Set([TABLE.conntrack, TABLE.snat, TABLE.unsnat]);

/** One flow-based port for all peers: the peer is in the flow. */
export const TUNNEL_PORT = '"muster-tun"';
export const EXTERNAL_PORT = '"muster-ext"';
