// The tables of the pipeline by name, and the ports of the integration bridge that belong to no instance. Flows name tables only by these
// words. The purpose of each table is stated only here; the documentation is generated from it.

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
  classify: 'classifies packets by origin: an instance, a peer, the external network',
  tunnel: 'classifies packets from peers by their tunnel key',
  ingress: 'what an instance sends: answers ARP, neighbour discovery and DHCP, then gateway or own network',
  neighbour: 'the second half of an answer to IPv6 neighbour discovery',
  route: 'routes between the subnets of a router, and from them to the way out',
  deliver: 'delivers to a local port or to the peer that has it; floods broadcast',
  outbound: 'the way out of a router: here, or at the designated host',
  conntrack: 'during a handover: whether a connection is translated here or by the end that allocates ports',
  snat: 'after source NAT',
  unsnat: 'after a reply was translated back',
};

/** The table after a conntrack lookup: for the switch that is another packet, with a cache entry of its own. */
export const RECIRCULATED_TABLES: ReadonlySet<number> = new Set([TABLE.conntrack, TABLE.snat, TABLE.unsnat]);

/** One flow-based port for all peers: the flow names the peer. */
export const TUNNEL_PORT = '"muster-tun"';
export const EXTERNAL_PORT = '"muster-ext"';
