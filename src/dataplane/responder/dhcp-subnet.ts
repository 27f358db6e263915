// The DHCP configuration of one IPv4 subnet.
import type { DhcpRoute } from '../packets/dhcp-options.ts';

export interface DhcpReservation {
  readonly ip: string;
  readonly hostname?: string;
}

/** What DHCP sends to the clients of one IPv4 subnet. */
export interface DhcpSubnet {
  readonly cidr: string;
  readonly gateway?: string;
  readonly dns?: readonly string[];
  readonly domain?: string;
  /** Routes beside the default route. */
  readonly routes?: readonly DhcpRoute[];
  readonly mtu: number;
  readonly leaseS: number;
  /** The address and the MAC address of the server. */
  readonly serverId: string;
  readonly serverMac: string;
  /** By MAC address, in lower case. */
  readonly reservations: ReadonlyMap<string, DhcpReservation>;
}
