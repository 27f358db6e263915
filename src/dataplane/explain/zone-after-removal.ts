// A transport zone that several hosts leave together: who stays, and which of those have tunnels with a leaving host. What leaving hosts
// have in common is looked up once, and a network that every host is in is counted once.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { transportZoneOf, findHost, HOST, HOSTS_BY_STATE, type Host } from '../../hosts/index.ts';
import {
  canHaveTunnels,
  presenceOf,
  SUBNET,
  TUNNEL_ENDPOINTS_BY_ZONE,
  type TransportZone,
} from '../../network/index.ts';
import { meshOf } from '../view/peers-part.ts';
import { relationsOf } from '../view/related-hosts.ts';

/** Hosts with tunnels: how many, and the first of them by name. */
export interface TunnelEnds {
  readonly count: number;
  readonly first: readonly string[];
}

export const NO_TUNNEL_ENDS: TunnelEnds = { count: 0, first: [] };

export class ZonesAfterRemoval {
  readonly #fleet: FleetReader;
  readonly #leaving: ReadonlySet<string>;
  readonly #zones = new Map<string, ZoneAfterRemoval>();

  constructor(fleet: FleetReader, leaving: ReadonlySet<string>) {
    this.#fleet = fleet;
    this.#leaving = leaving;
  }

  /** The zone of a host; undefined when no host there has tunnels. */
  zoneOf(host: Host): ZoneAfterRemoval | undefined {
    const [name, mesh] = [transportZoneOf(host), meshOf(this.#fleet, host)];
    if (mesh === undefined) return undefined;
    let zone = this.#zones.get(name);
    if (zone === undefined) {
      zone = new ZoneAfterRemoval({ fleet: this.#fleet, leaving: this.#leaving, name, mesh });
      this.#zones.set(name, zone);
    }
    return zone;
  }
}

/** Hosts with a port in a network or a subnet. */
type PresenceGroup = ReadonlyMap<string, unknown>;

interface ZoneOptions {
  readonly fleet: FleetReader;
  readonly leaving: ReadonlySet<string>;
  readonly name: string;
  readonly mesh: TransportZone['mesh'];
}

class ZoneAfterRemoval {
  readonly mesh: TransportZone['mesh'];
  /** The hosts that stay. */
  readonly count: number;
  readonly #options: ZoneOptions;
  readonly #counted = new Map<PresenceGroup, number>();
  /** Every host of the fleet is in this zone and has tunnels: whoever has a port in a network is a peer. */
  readonly #isAll: boolean;

  constructor(options: ZoneOptions) {
    const { fleet, leaving, name, mesh } = options;
    this.#options = options;
    this.mesh = mesh;
    const going = [...leaving].filter((id) => this.#isEnd(id)).length;
    const ends = fleet.countOf(TUNNEL_ENDPOINTS_BY_ZONE, name);
    this.count = ends - going;
    this.#isAll = ends + fleet.countOf(HOSTS_BY_STATE, 'state:removed') === fleet.count(HOST);
  }

  #isEnd(id: string): boolean {
    const { fleet, name } = this.#options;
    const host = findHost(fleet, id)?.doc;
    return host !== undefined && transportZoneOf(host) === name && canHaveTunnels(host);
  }

  isRemaining(id: string): boolean {
    return !this.#options.leaving.has(id) && this.#isEnd(id);
  }

  /** In the order of names. */
  firstRemaining(limit: number, isWanted: (id: string) => boolean = () => true): string[] {
    const { fleet, name, leaving } = this.#options;
    const first: string[] = [];
    if (limit === 0) return first;
    for (const { id } of fleet.find(TUNNEL_ENDPOINTS_BY_ZONE, name)) {
      if (first.length === limit) break;
      if (!leaving.has(id) && isWanted(id)) first.push(id);
    }
    return first;
  }

  /** The hosts that share something with a leaving host. The largest group is counted, only the others are iterated. */
  relatedTo(id: string, limit: number): TunnelEnds {
    const { fleet } = this.#options;
    const presence = presenceOf(fleet);
    const { networks, subnets, hosts } = relationsOf(fleet, id);
    const groups = [
      ...networks.map((one) => presence.portCountsInNetwork(one)),
      ...[...subnets].filter((one) => !this.#isSubnetOf(one, networks)).map((one) => presence.portCountsInSubnet(one)),
    ];
    const [largest = new Map<string, unknown>(), ...smaller] = groups.sort((one, other) => other.size - one.size);
    const others = new Set<string>();
    for (const group of [hosts, ...smaller]) {
      for (const host of group.keys()) if (!largest.has(host) && this.isRemaining(host)) others.add(host);
    }
    const count = this.#countOf(largest) + others.size;
    const isPeer = (host: string): boolean => largest.has(host) || others.has(host);
    // Choose the cheaper way: a few are sorted; of many, the first are found quickly.
    if (count > limit) return { count, first: this.firstRemaining(limit, isPeer) };
    const all = [...[...largest.keys()].filter((host) => this.isRemaining(host)), ...others];
    return { count, first: all.sort() };
  }

  /** A host with a port in a subnet has it in the network of that subnet. */
  #isSubnetOf(subnet: string, networks: readonly string[]): boolean {
    const network = this.#options.fleet.get(SUBNET, idOf(SUBNET, subnet))?.doc.network;
    return network !== undefined && networks.includes(network);
  }

  #countOf(group: PresenceGroup): number {
    let count = this.#counted.get(group);
    if (count === undefined) this.#counted.set(group, (count = this.#countRemaining(group)));
    return count;
  }

  #countRemaining(group: PresenceGroup): number {
    if (this.#isAll) return group.size - [...this.#options.leaving].filter((id) => group.has(id)).length;
    let count = 0;
    for (const host of group.keys()) if (this.isRemaining(host)) count += 1;
    return count;
  }
}
