// What a NIC needs of a host, in the words that the scheduler understands: pools of addresses, and the physical networks
// that lead to them.
import type { IpVersion } from '../addresses/ip.ts';

/** A pool that addresses are taken from: a segment's subnets, or all subnets of a network that is not routed. */
export type PoolKey = `segment:${string}` | `network:${string}`;

export interface PoolChoice {
  readonly pool: PoolKey;
  /** A host must report it to be chosen; undefined when every host will do. */
  readonly physicalNetwork?: string;
  /** The versions of which the NIC takes a new address here; none when it holds what it needs already. */
  readonly takes: readonly IpVersion[];
}

export interface NicRequirements {
  readonly network: string;
  readonly port?: string;
  /** The NIC goes to one of these; empty when it can go nowhere. */
  readonly choices: readonly PoolChoice[];
  /** An address that its port holds and keeps: it goes where that is carried and nowhere else. */
  readonly address?: string | undefined;
  /** Counted against `bandwidth-kbps:<physical network>` of the host, or `bandwidth-kbps` where the pool has none. */
  readonly minBandwidthKbps?: number | undefined;
  /** Takes one of the host's `pci:<request>`. */
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
