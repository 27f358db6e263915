// Assigns slots to hosts. Hosts of one site and zone that reach the same physical networks and are of about equal size share bays: so a whole bay can
// be skipped, the address stock behind it is one figure, and the emptiest host of a bay is mostly its best in everything. This is for speed alone: no
// answer may depend on the slot of a host.
import { BAY, BAY_BLOCKS, BLOCK_WORDS, lowestBit } from './bits.ts';

const BAY_WORDS = BAY_BLOCKS * BLOCK_WORDS;

/** A set of physical networks that some hosts report. Hosts with equal sets share the object. */
export interface NetworkReach {
  readonly key: string;
  readonly networks: readonly string[];
  /** A small number of its own, while any host has it. */
  id: number;
  hosts: number;
  /** The bay groups of hosts that have it, by site, zone and size. */
  readonly bayGroups: Map<string, Map<string, Map<number, BayGroup>>>;
}

/** The bay group key of a host. */
export interface BayGroupKey {
  readonly site: string;
  readonly zone: string;
  /** See `sizeOf`. */
  readonly size: number;
}

export interface BayGroup extends BayGroupKey {
  /** Undefined in the one bay group for hosts beyond the limit of bay groups: there each host is evaluated by itself. */
  readonly reach: NetworkReach | undefined;
  readonly bays: number[];
  /** The bays with a free slot. */
  readonly baysWithSpace: number[];
}

/** Each bay group may leave a bay half empty; beyond this many, hosts share one. */
const BAY_GROUPS_MAX = 512;

export class BayGroups {
  readonly #bayGroups: BayGroup[] = [];
  #mixed: BayGroup | undefined;
  readonly #reaches = new Map<string, NetworkReach>();
  readonly #freeIds: number[] = [];
  readonly #bayGroupsByBay: BayGroup[] = [];
  /** The free bays; the last released one is taken first. */
  readonly #free: number[] = [];
  /** Which slots are in use, as words, and how many of each bay. */
  readonly #used: number[] = [];
  readonly #hostsIn: number[] = [];
  #layout = 0;

  list(): readonly BayGroup[] {
    return this.#bayGroups;
  }

  /** Grows whenever a bay group gets or releases a bay. */
  get layout(): number {
    return this.#layout;
  }

  /** No bay group has a bay with this number or a higher one. */
  get bays(): number {
    return this.#bayGroupsByBay.length;
  }

  /** The bay group of a bay, or its last one. */
  groupOfBay(bay: number): BayGroup {
    return this.#bayGroupsByBay[bay] as BayGroup;
  }

  /** Whether there is a bay group of hosts that have nothing in common. */
  get isMixed(): boolean {
    return this.#mixed !== undefined;
  }

  reachOf(physicalNetworks: readonly string[]): NetworkReach {
    const networks = physicalNetworks.length > 1 ? [...physicalNetworks].sort() : physicalNetworks;
    const key = networks.length === 1 ? (networks[0] as string) : networks.join('\n');
    return this.#reaches.get(key) ?? { key, networks, id: -1, hosts: 0, bayGroups: new Map() };
  }

  allocateSlot(home: BayGroupKey, reach: NetworkReach): number {
    if (reach.hosts === 0) {
      reach.id = this.#freeIds.pop() ?? this.#reaches.size;
      this.#reaches.set(reach.key, reach);
    }
    reach.hosts += 1;
    const bayGroup = this.#findOrAddBayGroup(home, reach);
    const bay = bayGroup.baysWithSpace.at(-1) ?? this.#newBay(bayGroup);
    const slot = this.#freeSlotIn(bay);
    const word = slot >>> 5;
    this.#used[word] = (this.#used[word] as number) | (1 << (slot & 31));
    this.#hostsIn[bay] = (this.#hostsIn[bay] as number) + 1;
    if (this.#hostsIn[bay] === BAY) bayGroup.baysWithSpace.splice(bayGroup.baysWithSpace.indexOf(bay), 1);
    return slot;
  }

  releaseSlot(slot: number, reach: NetworkReach): void {
    reach.hosts -= 1;
    if (reach.hosts === 0) {
      this.#reaches.delete(reach.key);
      this.#freeIds.push(reach.id);
    }
    const bay = Math.floor(slot / BAY);
    const bayGroup = this.#bayGroupsByBay[bay] as BayGroup;
    if (this.#hostsIn[bay] === BAY) bayGroup.baysWithSpace.push(bay);
    this.#hostsIn[bay] = (this.#hostsIn[bay] as number) - 1;
    const word = slot >>> 5;
    this.#used[word] = (this.#used[word] as number) & ~(1 << (slot & 31));
    if (this.#hostsIn[bay] > 0) return;
    this.#layout += 1;
    bayGroup.bays.splice(bayGroup.bays.indexOf(bay), 1);
    bayGroup.baysWithSpace.splice(bayGroup.baysWithSpace.indexOf(bay), 1);
    this.#free.push(bay);
    if (bayGroup.bays.length > 0) return;
    this.#bayGroups.splice(this.#bayGroups.indexOf(bayGroup), 1);
    bayGroup.reach?.bayGroups.get(bayGroup.site)?.get(bayGroup.zone)?.delete(bayGroup.size);
    if (bayGroup === this.#mixed) this.#mixed = undefined;
  }

  #findOrAddBayGroup({ site, zone, size }: BayGroupKey, reach: NetworkReach): BayGroup {
    const found = reach.bayGroups.get(site)?.get(zone)?.get(size);
    if (found !== undefined) return found;
    const mixed = this.#bayGroups.length >= BAY_GROUPS_MAX;
    if (mixed && this.#mixed !== undefined) return this.#mixed;
    const bayGroup: BayGroup = { site, zone, size, reach: mixed ? undefined : reach, bays: [], baysWithSpace: [] };
    this.#bayGroups.push(bayGroup);
    if (mixed) this.#mixed = bayGroup;
    else getOrCreate(getOrCreate(reach.bayGroups, site), zone).set(size, bayGroup);
    return bayGroup;
  }

  #newBay(bayGroup: BayGroup): number {
    const bay = this.#free.pop() ?? this.#bayGroupsByBay.length;
    this.#layout += 1;
    this.#bayGroupsByBay[bay] = bayGroup;
    this.#hostsIn[bay] = 0;
    while (this.#used.length < (bay + 1) * BAY_WORDS) this.#used.push(0);
    bayGroup.bays.push(bay);
    bayGroup.baysWithSpace.push(bay);
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

function getOrCreate<K, V>(maps: Map<string, Map<K, V>>, key: string): Map<K, V> {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map<K, V>()));
  return map;
}

/** Steps of about a fifth: hosts of nominally equal size differ by less. */
const STEPS_PER_DOUBLING = 4;

/** The approximate memory and vcpus of a host. */
export function sizeOf(memoryMiB: number, vcpus: number): number {
  return stepOf(memoryMiB) * 1000 + stepOf(vcpus);
}

function stepOf(amount: number): number {
  return Math.round(Math.log2(amount + 1) * STEPS_PER_DOUBLING);
}
