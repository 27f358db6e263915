// The tables of the pipeline by name, and the ports of the integration bridge that are not an instance's. A flow names a table
// by these words only.

export const TABLE = {
  /** Where a packet comes from: an instance, a peer, outside. */
  classify: 0,
  /** ARP answers, and what leaves its own network. */
  ingress: 10,
  /** To a local port, or to the peer that has it. */
  deliver: 20,
  /** To the outside: translated here, or sent to the host that does so. */
  outbound: 30,
  /** After source NAT. */
  translated: 35,
  /** After a reply was translated back. */
  restored: 40,
} as const;

/** One flow-based port for all peers: the peer is in the flow. */
export const TUNNEL_PORT = '"muster-tun"';
export const EXTERNAL_PORT = '"muster-ext"';
export const DHCP_PORT = '"muster-dhcp"';

/** What a packet between hosts is about. Whose it is says the key in the tunnel's metadata: 24 bits could not. */
export const TUNNEL_ID = {
  /** Please translate this. */
  outbound: '0x3e8',
  /** A reply that I cannot translate back; you may know it. */
  restore: '0x7d0',
  /** Please answer this DHCP request. */
  dhcp: '0xbb8',
} as const;
