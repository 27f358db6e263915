// What the view says to the data plane of a host: itself, its peers, the networks and routers that it has to do with, the services,
// and the ports that are bound there. The server builds it (`*-part.ts`), the agent compiles it; a part that an older server does
// not send is not the same as an empty one.
import type { Handover, ServiceType } from '../../election/index.ts';

export interface PeerView {
  readonly host: string;
  readonly tunnelAddress: string;
}

export interface SubnetView {
  readonly id: string;
  readonly network: string;
  /** Of the layer-2 domain that it lies in. */
  readonly domain: string;
  readonly cidr: string;
  readonly gateway?: string;
}

/** A port that is bound to another host. */
export interface RemotePortView {
  readonly id: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly host: string;
}

/** What is one layer-2 network: a segment, or a network without segments. */
export interface DomainView {
  /** `segment/rack-1`, `network/blue`. */
  readonly id: string;
  readonly key: number;
  /** Those that lie in it, behind a router or not. */
  readonly subnets: readonly SubnetView[];
  /** In the order of ids. */
  readonly ports: readonly RemotePortView[];
}

export interface RouterView {
  readonly id: string;
  readonly key: number;
  readonly subnets: readonly SubnetView[];
}

export interface NetworksView {
  readonly domains: readonly DomainView[];
  readonly routers: readonly RouterView[];
}

/**
 * `designated`: does it. `preparing`: is built to do it. `retiring`: did it until just now. `standby`: does what peers send to it when
 * they do not hear the designated host. `other`: sends what is to be done to the designated host.
 */
export type ServiceRole = 'designated' | 'preparing' | 'retiring' | 'standby' | 'other';

export interface ServiceView {
  readonly id: string;
  readonly type: ServiceType;
  readonly epoch: number;
  readonly role: ServiceRole;
  /** Who does it; absent while nobody does. */
  readonly designated?: { readonly host: string; readonly tunnelAddress?: string };
  /** Who takes it over when that host is lost. */
  readonly standby?: string;
  /** While it is handed over, for both ends: how far, and who is at the other end. */
  readonly handover?: {
    /** Compiled as `preparing` is: `syncing`. As `retiring` is: `resyncing`; of all but `nat` `draining`, too. */
    readonly phase: Handover['phase'];
    /** The operation that does it; an older server does not say. */
    readonly operation?: string;
    readonly other: string;
    readonly tunnelAddress?: string;
  };
  /** What it is about: the subnet, or those of the router. */
  readonly subnets: readonly SubnetView[];
  /** Of `nat` and `subnet-route`: the router whose way out it is. */
  readonly router?: string;
  /** The next hop outside, where the external network has one. */
  readonly via?: string;
  /** Of `nat`: the address that its subnets are seen from outside with. */
  readonly nat?: { readonly router: string; readonly ip: string };
  /** Of `nat`: addresses of instances on this host, translated here whoever is designated. */
  readonly floating?: readonly FloatingAddressView[];
}

export interface FloatingAddressView {
  readonly outside: string;
  readonly inside: string;
  readonly via?: string;
}

export interface LocalPortView {
  readonly id: string;
  readonly mac: string;
  readonly network: string;
  readonly segment?: string;
  readonly addresses: readonly string[];
}

export interface BfdView {
  readonly intervalMs: number;
  /** Those with which this host exchanges them. */
  readonly peers: readonly string[];
}

export interface DataplaneView {
  readonly host: string;
  readonly tombstoned: boolean;
  /** Removed or not trusted: nothing of ours is to be on its switch. */
  readonly excluded: boolean;
  readonly peers: readonly PeerView[];
  readonly networks: NetworksView;
  readonly services: readonly ServiceView[];
  readonly ports: readonly LocalPortView[];
  readonly bfd: BfdView;
}

/** The layer-2 domain that a port or a subnet lies in. */
export function domainOf({
  network,
  segment,
}: {
  readonly network: string;
  readonly segment?: string | undefined;
}): string {
  return segment === undefined ? `network/${network}` : `segment/${segment}`;
}
