// Where a host's slot is. Hosts of one site and zone that reach the same physical networks share bays, so that a whole bay
// can be passed over, and so that the stock of addresses behind a bay is one figure. That is for speed alone: no
// answer depends on which slot a host has.
import { BAY_BLOCKS, BLOCK, BLOCK_WORDS, lowestBit } from './bits.ts';

const BAY = BAY_BLOCKS * BLOCK;
const BAY_WORDS = BAY_BLOCKS * BLOCK_WORDS;

/** A set of physical networks that some hosts report. Hosts with equal sets share the object. */
export interface Reach {
  readonly key: string;
  readonly networks: readonly string[];
  /** A small number of its own, while any host has it. */
  id: number;
  hosts: number;
  /** The clusters of hosts that have it, by site and zone. */
  readonly clusters: Map<string, Map<string, Cluster>>;
}

export interface Cluster {
  readonly site: string;
  readonly zone: string;
  /** Undefined in the one cluster that takes what has no room of its own: there each host is looked at by itself. */
  readonly reach: Reach | undefined;
  readonly bays: number[];
  /** The bays with a free slot. */
  readonly roomy: number[];
}

/** Each cluster may leave a bay half empty; beyond this many, hosts share one. */
const CLUSTERS_MAX = 512;

export class Clusters {
  readonly #clusters = new Set<Cluster>();
  #mixed: Cluster | undefined;
  readonly #reaches = new Map<string, Reach>();
  readonly #freeIds: number[] = [];
  readonly #ofBay: Cluster[] = [];
  /** The bays that no cluster has; the last one given back is taken first. */
  readonly #free: number[] = [];
  /** Which slots are taken, as words, and how many of each bay. */
  readonly #used: number[] = [];
  readonly #hostsIn: number[] = [];

  all(): Iterable<Cluster> {
    return this.#clusters;
  }

  /** Whether there is a cluster of hosts that have nothing in common. */
  get isMixed(): boolean {
    return this.#mixed !== undefined;
  }

  reachOf(physicalNetworks: readonly string[]): Reach {
    const networks = physicalNetworks.length > 1 ? [...physicalNetworks].sort() : physicalNetworks;
    const key = networks.length === 1 ? (networks[0] as string) : networks.join('\n');
    return this.#reaches.get(key) ?? { key, networks, id: -1, hosts: 0, clusters: new Map() };
  }

  take(site: string, zone: string, reach: Reach): number {
    if (reach.hosts === 0) {
      reach.id = this.#freeIds.pop() ?? this.#reaches.size;
      this.#reaches.set(reach.key, reach);
    }
    reach.hosts += 1;
    const cluster = this.#clusterFor(site, zone, reach);
    const bay = cluster.roomy.at(-1) ?? this.#newBay(cluster);
    const slot = this.#freeSlotIn(bay);
    const word = slot >>> 5;
    this.#used[word] = (this.#used[word] as number) | (1 << (slot & 31));
    this.#hostsIn[bay] = (this.#hostsIn[bay] as number) + 1;
    if (this.#hostsIn[bay] === BAY) cluster.roomy.splice(cluster.roomy.indexOf(bay), 1);
    return slot;
  }

  give(slot: number, reach: Reach): void {
    reach.hosts -= 1;
    if (reach.hosts === 0) {
      this.#reaches.delete(reach.key);
      this.#freeIds.push(reach.id);
    }
    const bay = Math.floor(slot / BAY);
    const cluster = this.#ofBay[bay] as Cluster;
    if (this.#hostsIn[bay] === BAY) cluster.roomy.push(bay);
    this.#hostsIn[bay] = (this.#hostsIn[bay] as number) - 1;
    const word = slot >>> 5;
    this.#used[word] = (this.#used[word] as number) & ~(1 << (slot & 31));
    if (this.#hostsIn[bay] > 0) return;
    cluster.bays.splice(cluster.bays.indexOf(bay), 1);
    cluster.roomy.splice(cluster.roomy.indexOf(bay), 1);
    this.#free.push(bay);
    if (cluster.bays.length > 0) return;
    this.#clusters.delete(cluster);
    cluster.reach?.clusters.get(cluster.site)?.delete(cluster.zone);
    if (cluster === this.#mixed) this.#mixed = undefined;
  }

  #clusterFor(site: string, zone: string, reach: Reach): Cluster {
    const found = reach.clusters.get(site)?.get(zone);
    if (found !== undefined) return found;
    const mixed = this.#clusters.size >= CLUSTERS_MAX;
    if (mixed && this.#mixed !== undefined) return this.#mixed;
    const cluster: Cluster = { site, zone, reach: mixed ? undefined : reach, bays: [], roomy: [] };
    this.#clusters.add(cluster);
    if (mixed) this.#mixed = cluster;
    else {
      let ofSite = reach.clusters.get(site);
      if (ofSite === undefined) reach.clusters.set(site, (ofSite = new Map<string, Cluster>()));
      ofSite.set(zone, cluster);
    }
    return cluster;
  }

  #newBay(cluster: Cluster): number {
    const bay = this.#free.pop() ?? this.#ofBay.length;
    this.#ofBay[bay] = cluster;
    this.#hostsIn[bay] = 0;
    while (this.#used.length < (bay + 1) * BAY_WORDS) this.#used.push(0);
    cluster.bays.push(bay);
    cluster.roomy.push(bay);
    return bay;
  }

  /** The lowest free slot of a bay that has one. */
  #freeSlotIn(bay: number): number {
    for (let word = bay * BAY_WORDS; ; word += 1) {
      const free = ~(this.#used[word] as number);
      if (free !== 0) return word * 32 + lowestBit(free);
    }
  }
}
