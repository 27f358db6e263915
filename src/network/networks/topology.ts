// The topology of networks: the subnets and segments of each, whether it is routed, and where a NIC on it may be placed. A projection, so that a
// request looks nothing up twice; the choices for NICs are computed once per change of a network.
import type { AppliedChange, FleetReader, ProjectionState, Projection, Stored } from '../../fleet/index.ts';
import type { Host } from '../../hosts/index.ts';
import type { IpVersion } from '../addresses/ip.ts';
import {
  NETWORK,
  SEGMENT,
  SUBNET,
  type Network,
  type NetworkId,
  type Port,
  type Segment,
  type Subnet,
} from '../model.ts';
import type { PoolChoice, PoolKey } from '../ports/nic-requirements.ts';

export type StoredNetwork = Stored<'network', Network>;
export type StoredSegment = Stored<'segment', Segment>;
export type StoredSubnet = Stored<'subnet', Subnet>;
export type StoredPort = Stored<'port', Port>;

interface NetworkParts {
  readonly segments: Map<string, StoredSegment>;
  readonly subnets: Map<string, StoredSubnet>;
  /** How many of the subnets are on a segment. */
  segmented: number;
  /** Where a NIC can get its addresses and be connected; dropped with every change. */
  addressChoices?: readonly PoolChoice[] | undefined;
  placementChoices?: readonly PoolChoice[] | undefined;
}

const newParts = (): NetworkParts => ({ segments: new Map(), subnets: new Map(), segmented: 0 });
const NO_PARTS: NetworkParts = newParts();

class Topology implements ProjectionState {
  readonly #networks = new Map<string, NetworkParts>();

  apply({ kind, before, after }: AppliedChange): void {
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
    if (parts === undefined) this.#networks.set(network, (parts = newParts()));
    const shelf = (kind === SEGMENT.name ? parts.segments : parts.subnets) as Map<string, Stored>;
    if (there) shelf.set(stored.id, stored);
    else shelf.delete(stored.id);
    if (kind === SUBNET.name && (stored.doc as Subnet).segment !== undefined) parts.segmented += there ? 1 : -1;
    parts.addressChoices = undefined;
    parts.placementChoices = undefined;
    if (parts.segments.size + parts.subnets.size === 0) this.#networks.delete(network);
  }

  #parts(network: string): NetworkParts {
    return this.#networks.get(network) ?? NO_PARTS;
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

  /** A routed network has a segment on every subnet, so checking one of them is enough. */
  isRouted(network: string): boolean {
    return this.#parts(network).segmented > 0;
  }

  /** Where a NIC that needs an address may get it. */
  addressChoicesOf(network: string): readonly PoolChoice[] {
    const parts = this.#networks.get(network);
    if (parts === undefined) return [wholeNetworkChoice(network)];
    return (parts.addressChoices ??= addressChoices(parts, this.placementChoicesOf(network)));
  }

  /** Where a NIC that needs no address may go. */
  placementChoicesOf(network: string): readonly PoolChoice[] {
    const parts = this.#networks.get(network);
    if (parts === undefined || parts.segmented === 0) return [wholeNetworkChoice(network)];
    return (parts.placementChoices ??= [...parts.segments.values()]
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

/** A NIC that stays on its segment, with the addresses that it has. */
export function choiceOf({ id, doc }: StoredSegment): PoolChoice {
  const { physicalNetwork } = doc;
  return { pool: segmentPool(id), ...(physicalNetwork !== undefined && { physicalNetwork }), takes: [] };
}

/** A network that is not routed is one pool, which every host reaches. */
function wholeNetworkChoice(network: string): PoolChoice {
  return { pool: networkPool(network), takes: [] };
}

/** The choices with their available addresses; a segment without free addresses is none. */
function addressChoices({ subnets }: NetworkParts, reach: readonly PoolChoice[]): PoolChoice[] {
  const versions = new Map<PoolKey, Set<IpVersion>>();
  for (const { doc } of subnets.values()) {
    if (doc.pools.length === 0) continue;
    const pool = poolOf(doc);
    versions.set(pool, (versions.get(pool) ?? new Set()).add(doc.version));
  }
  return reach
    .map((choice) => ({ ...choice, takes: ([4, 6] as const).filter((one) => versions.get(choice.pool)?.has(one)) }))
    .filter(({ pool, takes }) => takes.length > 0 || !isSegmentPool(pool));
}

export function segmentPool(segment: string): PoolKey {
  return `segment:${segment}`;
}

export function networkPool(network: string): PoolKey {
  return `network:${network}`;
}

/** The segment of a pool; undefined for the one pool of a network that is not routed. */
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
