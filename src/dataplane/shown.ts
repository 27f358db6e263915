// What the view says to the data plane of a host: itself, its peers, the networks and routers that it has to do with, the services,
// and the ports that are bound there. The server builds it (`*-part.ts`), the agent compiles it; a part that an older server does
// not send is not the same as an empty one.
import type { HandOver, ServiceType } from '../election/index.ts';

export interface ShownPeer {
  readonly host: string;
  readonly tunnelAddress: string;
}

export interface ShownSubnet {
  readonly id: string;
  readonly network: string;
  /** Of the layer-2 domain that it lies in. */
  readonly domain: string;
  readonly cidr: string;
  readonly gateway?: string;
}

/** A port that is bound to another host. */
export interface ShownFarPort {
  readonly id: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly host: string;
}

/** What is one layer-2 network: a segment, or a network without segments. */
export interface ShownDomain {
  /** `segment/rack-1`, `network/blue`. */
  readonly id: string;
  readonly key: number;
  /** Those that lie in it, behind a router or not. */
  readonly subnets: readonly ShownSubnet[];
  /** In the order of ids. */
  readonly ports: readonly ShownFarPort[];
}

export interface ShownRouter {
  readonly id: string;
  readonly key: number;
  readonly subnets: readonly ShownSubnet[];
}

export interface ShownNetworks {
  readonly domains: readonly ShownDomain[];
  readonly routers: readonly ShownRouter[];
}

/**
 * `designated`: does it. `preparing`: is built to do it. `retiring`: did it until just now. `standby`: does what peers send to it when
 * they do not hear the designated host. `other`: sends what is to be done to the designated host.
 */
export type Role = 'designated' | 'preparing' | 'retiring' | 'standby' | 'other';

export interface ShownService {
  readonly id: string;
  readonly type: ServiceType;
  readonly epoch: number;
  readonly role: Role;
  /** Who does it; absent while nobody does. */
  readonly designated?: { readonly host: string; readonly tunnelAddress?: string };
  /** Who takes it over when that host is lost. */
  readonly standby?: string;
  /** While it is handed over, for both ends: how far, and who is at the other end. */
  readonly handOver?: {
    /** Compiled as `preparing` is: `seeding`. As `retiring` is: `reseeding`; of all but `nat` `draining`, too. */
    readonly phase: HandOver['phase'];
    /** The operation that does it; an older server does not say. */
    readonly operation?: string;
    readonly other: string;
    readonly tunnelAddress?: string;
  };
  /** What it is about: the subnet, or those of the router. */
  readonly subnets: readonly ShownSubnet[];
  /** Of `nat` and `subnet-route`: the router whose way out it is. */
  readonly router?: string;
  /** The next hop outside, where the external network has one. */
  readonly via?: string;
  /** Of `nat`: the address that its subnets are seen from outside with. */
  readonly nat?: { readonly router: string; readonly ip: string };
  /** Of `nat`: addresses of instances on this host, translated here whoever is designated. */
  readonly floating?: readonly ShownFloating[];
}

export interface ShownFloating {
  readonly outside: string;
  readonly inside: string;
  readonly via?: string;
}

export interface ShownSwitchPort {
  readonly id: string;
  readonly mac: string;
  readonly network: string;
  readonly segment?: string;
  readonly addresses: readonly string[];
}

export interface ShownHeartbeats {
  readonly everyMs: number;
  /** Those with which this host exchanges them. */
  readonly peers: readonly string[];
}

export interface DataplaneView {
  readonly host: string;
  readonly tombstoned: boolean;
  /** Removed or not trusted: nothing of ours is to be on its switch. */
  readonly outcast: boolean;
  readonly peers: readonly ShownPeer[];
  readonly networks: ShownNetworks;
  readonly services: readonly ShownService[];
  readonly ports: readonly ShownSwitchPort[];
  readonly heartbeats: ShownHeartbeats;
}

interface Parts {
  readonly self?: { readonly tombstoned?: boolean; readonly quarantined?: boolean; readonly state?: string };
  readonly peers?: readonly ShownPeer[];
  readonly networks?: ShownNetworks;
  readonly services?: readonly ShownService[];
  readonly heartbeats?: ShownHeartbeats;
  readonly instances?: readonly { readonly ports?: readonly ShownSwitchPort[] }[];
}

const NO_HEARTBEATS: ShownHeartbeats = { everyMs: 0, peers: [] };
const NO_NETWORKS: ShownNetworks = { domains: [], routers: [] };

/** Undefined when the server says nothing of the data plane: then the switch is left as it is. */
export function dataplaneView(host: string, parts: Readonly<Record<string, unknown>>): DataplaneView | undefined {
  const {
    self = {},
    peers,
    networks = NO_NETWORKS,
    services,
    heartbeats = NO_HEARTBEATS,
    instances = [],
  } = parts as Parts;
  if (peers === undefined || services === undefined) return undefined;
  return {
    host,
    tombstoned: self.tombstoned === true,
    outcast: self.quarantined === true || self.state === 'removed',
    peers,
    networks,
    services,
    ports: instances.flatMap(({ ports = [] }) => ports),
    heartbeats,
  };
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
