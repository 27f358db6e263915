// The view parts for a host's data plane: itself, its peers, the networks and routers that it is involved in, the services, and the ports
// bound there. The server builds them (`*-part.ts`), the agent compiles them; a part that an older server does not send is not the same as
// an empty part.
import type { Handover, ServiceType } from '../../election/index.ts';

export interface PeerView {
  readonly host: string;
  readonly tunnelAddress: string;
}

export interface SubnetView {
  readonly id: string;
  readonly network: string;
  /** The layer-2 domain that it is in. */
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

/** One layer-2 network: a segment, or a network without segments. */
export interface DomainView {
  /** `segment/rack-1`, `network/blue`. */
  readonly id: string;
  readonly key: number;
  /** The subnets in it, behind a router or not. */
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
 * `designated`: serves it. `preparing`: is prepared to serve it. `retiring`: served it until just now. `standby`: serves what peers send to
 * it while BFD to the designated host is down. `other`: sends to the designated host.
 */
export type ServiceRole = 'designated' | 'preparing' | 'retiring' | 'standby' | 'other';

export interface ServiceView {
  readonly id: string;
  readonly type: ServiceType;
  readonly epoch: number;
  readonly role: ServiceRole;
  /** The designated host; absent while there is none. */
  readonly designated?: { readonly host: string; readonly tunnelAddress?: string };
  /** The host that takes over when the designated one fails. */
  readonly standby?: string;
  /** While it is handed over, for both ends: how far, and who is at the other end. */
  readonly handover?: {
    /** Compiled as `preparing` is: `syncing`. As `retiring` is: `resyncing`; of all but `nat` `draining`, too. */
    readonly phase: Handover['phase'];
    /** The operation of the handover; an older server does not send it. */
    readonly operation?: string;
    readonly other: string;
    readonly tunnelAddress?: string;
  };
  /** The subnets it serves: its own, or those of the router. */
  readonly subnets: readonly SubnetView[];
  /** Of `nat` and `subnet-route`: the router whose way out it is. */
  readonly router?: string;
  /** The external next hop, where the external network has one. */
  readonly via?: string;
  /** Of `nat`: the external address of its subnets. */
  readonly nat?: { readonly router: string; readonly ip: string };
  /** Of `nat`: floating addresses of instances on this host, translated here whichever host is designated. */
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
  /** The peers with which this host runs BFD. */
  readonly peers: readonly string[];
}

export interface DataplaneView {
  readonly host: string;
  readonly tombstoned: boolean;
  /** Removed or not trusted: nothing of ours may be on its switch. */
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
