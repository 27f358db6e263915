// How networks hang together: the subnets and segments of each, whether it is routed, and where a NIC on it may go. A
// projection, so that a request looks nothing up twice; what NICs may choose from is worked out once per change of a network.
import type { Applied, FleetReader, Projected, Projection, Stored } from '../fleet/index.ts';
import type { Host } from '../hosts/index.ts';
import type { IpVersion } from './ip.ts';
import {
  NETWORK,
  SEGMENT,
  SUBNET,
  type Network,
  type NetworkId,
  type Port,
  type Segment,
  type Subnet,
} from './model.ts';
import type { PoolChoice, PoolKey } from './need.ts';

export type StoredNetwork = Stored<'network', Network>;
export type StoredSegment = Stored<'segment', Segment>;
export type StoredSubnet = Stored<'subnet', Subnet>;
export type StoredPort = Stored<'port', Port>;

interface Parts {
  readonly segments: Map<string, StoredSegment>;
  readonly subnets: Map<string, StoredSubnet>;
  /** Where a NIC gets its addresses, and where it can be connected; forgotten with every change. */
  choices?: readonly PoolChoice[] | undefined;
  reach?: readonly PoolChoice[] | undefined;
}

const NOTHING: Parts = { segments: new Map(), subnets: new Map() };

class Topology implements Projected {
  readonly #networks = new Map<string, Parts>();

  apply({ kind, before, after }: Applied): void {
    for (const [stored, there] of [
      [before, false],
      [after, true],
    ] as const) {
      if (stored !== undefined) this.#change(kind, stored, there);
    }
  }

  #change(kind: string, stored: Stored, there: boolean): void {
    const { network } = stored.doc as Segment | Subnet;
    let parts = this.#networks.get(network);
    if (parts === undefined) this.#networks.set(network, (parts = { segments: new Map(), subnets: new Map() }));
    const shelf = (kind === SEGMENT.name ? parts.segments : parts.subnets) as Map<string, Stored>;
    if (there) shelf.set(stored.id, stored);
    else shelf.delete(stored.id);
    parts.choices = undefined;
    parts.reach = undefined;
    if (parts.segments.size + parts.subnets.size === 0) this.#networks.delete(network);
  }

  #parts(network: string): Parts {
    return this.#networks.get(network) ?? NOTHING;
  }

  subnetsOf(network: string): readonly StoredSubnet[] {
    return [...this.#parts(network).subnets.values()];
  }

  segmentsOf(network: string): readonly StoredSegment[] {
    return [...this.#parts(network).segments.values()];
  }

  segment(network: string, id: string): StoredSegment | undefined {
    return this.#parts(network).segments.get(id);
  }

  hasSubnets(network: string): boolean {
    return this.#parts(network).subnets.size > 0;
  }

  /** A routed network has a segment on every subnet; one of them tells. */
  isRouted(network: string): boolean {
    for (const { doc } of this.#parts(network).subnets.values()) return doc.segment !== undefined;
    return false;
  }

  /** Where a NIC that needs an address may get it. */
  choicesOf(network: string): readonly PoolChoice[] {
    const parts = this.#parts(network);
    return (parts.choices ??= this.reachOf(network)
      .map((reach) => ({ ...reach, takes: versionsIn(parts, reach.pool) }))
      .filter(({ pool, takes }) => takes.length > 0 || !isSegmentPool(pool)));
  }

  /** Where a NIC that needs no address may go. */
  reachOf(network: string): readonly PoolChoice[] {
    const parts = this.#parts(network);
    if (parts === NOTHING || !this.isRouted(network)) return [{ pool: networkPool(network), takes: [] }];
    return (parts.reach ??= [...parts.segments.values()]
      .filter(({ doc }) => !doc.dynamic)
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .map((segment) => choiceOf(segment)));
  }
}

export type { Topology };

export const TOPOLOGY: Projection<Topology> = {
  name: 'topology',
  kinds: [SEGMENT.name, SUBNET.name],
  create: () => new Topology(),
};

/** A NIC that stays on a segment, with what it has. */
export function choiceOf({ id, doc }: StoredSegment): PoolChoice {
  const { physicalNetwork } = doc;
  return { pool: segmentPool(id), ...(physicalNetwork !== undefined && { physicalNetwork }), takes: [] };
}

function versionsIn({ subnets }: Parts, pool: PoolKey): IpVersion[] {
  const found = new Set<IpVersion>();
  for (const { doc } of subnets.values()) if (poolOf(doc) === pool && doc.pools.length > 0) found.add(doc.version);
  return ([4, 6] as const).filter((version) => found.has(version));
}

export function segmentPool(segment: string): PoolKey {
  return `segment:${segment}`;
}

export function networkPool(network: string): PoolKey {
  return `network:${network}`;
}

/** The segment that a pool is of; undefined for the one pool of a network that is not routed. */
export function segmentOfPool(pool: PoolKey): string | undefined {
  return isSegmentPool(pool) ? pool.slice('segment:'.length) : undefined;
}

function isSegmentPool(pool: PoolKey): boolean {
  return pool.startsWith('segment:');
}

/** The pool that a subnet's addresses belong to. */
export function poolOf(subnet: Subnet): PoolKey {
  return subnet.segment === undefined ? networkPool(subnet.network) : segmentPool(subnet.segment);
}

/** Derived, never stored: a host reaches the segments on the physical networks that it reports. */
export function hostReaches(host: Host, segment: Segment): boolean {
  return segment.physicalNetwork === undefined || host.physicalNetworks.includes(segment.physicalNetwork);
}

export function findNetwork(fleet: FleetReader, id: string): StoredNetwork | undefined {
  return fleet.get(NETWORK, id as NetworkId);
}

export function topologyOf(fleet: FleetReader): Topology {
  return fleet.projection(TOPOLOGY);
}
