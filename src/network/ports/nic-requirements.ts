// The requirements of a NIC on a host, in the scheduler's terms: pools of addresses, and the physical networks that lead to them.
import type { IpVersion } from '../addresses/ip.ts';

/** A pool that addresses are taken from: a segment's subnets, or all subnets of a network that is not routed. */
export type PoolKey = `segment:${string}` | `network:${string}`;

export interface PoolChoice {
  readonly pool: PoolKey;
  /** A host must report it to be chosen; undefined when every host will do. */
  readonly physicalNetwork?: string;
  /** The versions of which the NIC gets a new address here; none when it has all it needs. */
  readonly takes: readonly IpVersion[];
}

export interface NicRequirements {
  readonly network: string;
  readonly port?: string;
  /** The alternatives; empty when the NIC can be placed nowhere. */
  readonly choices: readonly PoolChoice[];
  /** An address that its port holds and keeps: the NIC is placed only where that is carried. */
  readonly address?: string | undefined;
  /** Counted against `bandwidth-kbps:<physical network>` of the host, or `bandwidth-kbps` where the pool has none. */
  readonly minBandwidthKbps?: number | undefined;
  /** Uses one of the host's `pci:<request>`. */
  readonly pciRequest?: string | undefined;
}

/**
 * The resource class that bandwidth on a physical network is counted in; without one, on networks that every host reaches
 * and in tunnels, it is the host's own.
 */
export function bandwidthClass(physicalNetwork: string | undefined): string {
  return physicalNetwork === undefined ? 'bandwidth-kbps' : `bandwidth-kbps:${physicalNetwork}`;
}

/** The resource class that devices for a port's PCI request are counted in. */
export function pciClass(request: string): string {
  return `pci:${request}`;
}
