// What the clients of one subnet of IPv4 are told by DHCP.
import type { Route } from '../packets/dhcp-options.ts';

export interface DhcpReservation {
  readonly ip: string;
  readonly hostname?: string;
}

/** What one subnet of IPv4 says to its clients. */
export interface DhcpSubnet {
  readonly cidr: string;
  readonly gateway?: string;
  readonly dns?: readonly string[];
  readonly domain?: string;
  /** Routes beside the one by the gateway. */
  readonly routes?: readonly Route[];
  readonly mtu: number;
  readonly leaseS: number;
  /** The address and the MAC address that the server is known by. */
  readonly serverId: string;
  readonly serverMac: string;
  /** By MAC address, in lower case. */
  readonly reservations: ReadonlyMap<string, DhcpReservation>;
}
