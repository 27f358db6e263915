// Finding the best host: exact, and without looking at each. Blocks of hosts are visited in the order of what their best
// host can have at most, until none is left that could be better than what was found. Of hosts that are equally good the
// one with the lowest id is taken, so that the answer does not depend on the order in which hosts came.
import type { PoolKey } from '../network/index.ts';
import type { Ask } from './ask.ts';
import { BLOCK, BLOCK_WORDS, lowestBit } from './bits.ts';
import type { Cluster, Reach } from './clusters.ts';
import type { Place } from './places.ts';

export interface Found {
  readonly slot: number;
  readonly host: string;
  readonly pools: readonly PoolKey[];
  /** In score units. */
  readonly score: number;
}

/** With so few hosts of a block in question they are looked at one by one, rather than the block as a whole. */
const FEW = 12;

export function findBest(ask: Ask): Found | undefined {
  if (ask.sieve.isEmpty) return undefined;
  const search = new Search(ask);
  const { onlyHost } = ask.request;
  if (onlyHost !== undefined) search.look([onlyHost]);
  else if (ask.group?.confines === true) search.look(ask.group.hosts());
  else {
    // Hosts with members that attract are worth more than the bounds of their blocks say: they are looked at beforehand.
    if (ask.group?.attracts === true) search.look(ask.group.hosts());
    search.run();
  }
  return search.best;
}

class Search {
  readonly #ask: Ask;
  best: Found | undefined;
  /** The most that a block's best host can have, and what its place is worth; by block. */
  readonly #bounds: Float64Array;
  /** Blocks that are still to be visited, as a heap: no bound is higher than the first one's. */
  readonly #heap: Int32Array;
  #waiting = 0;
  /** The most that its group can add to a host which was not looked at yet. */
  #membersAdd = 0;
  /** What the cluster of a block has in common; undefined where its hosts differ. */
  readonly #shared: (Place | undefined)[] = [];

  constructor(ask: Ask) {
    this.#ask = ask;
    const { blocks } = ask.index.table;
    this.#bounds = new Float64Array(blocks);
    this.#heap = new Int32Array(blocks);
  }

  /** Looks at hosts by name. */
  look(hosts: readonly string[]): void {
    this.#membersAdd = this.#ask.group?.termMax ?? 0;
    for (const host of hosts) {
      const slot = this.#ask.index.slotOf(host);
      if (slot !== undefined && this.#ask.sieve.has(slot)) this.#consider(slot, undefined);
    }
    this.#membersAdd = 0;
  }

  run(): void {
    for (const cluster of this.#ask.index.clusters()) this.#enter(cluster);
    this.#heapify();
    while (this.#waiting > 0 && this.#boundAt(0) > this.#score) {
      const block = this.#heap[0] as number;
      if (!this.#sharpen(block)) continue;
      this.#pop();
      this.#visit(block);
    }
    if (this.best === undefined) return;
    for (let at = 0; at < this.#waiting; at += 1) {
      if (this.#boundAt(at) === this.#score) this.#visitTied(this.#heap[at] as number);
    }
  }

  get #score(): number {
    return this.best === undefined ? -Infinity : this.best.score;
  }

  /** Puts the blocks of a cluster on the heap, as far as one of their hosts may be chosen. */
  #enter({ site, zone, reach, blocks }: Cluster): void {
    const { request, avoidedSites, places, sieve, profile, weighing } = this.#ask;
    let term = places.termMax;
    let shared: Place | undefined;
    if (reach !== undefined) {
      if (request.site !== undefined && request.site !== site) return;
      if (request.zone !== undefined && request.zone !== zone) return;
      if (avoidedSites.has(site)) return;
      const place = places.of(reach);
      if (place === undefined) return;
      if (!places.needsBandwidth) [shared, term] = [place, place.term];
    }
    for (const block of blocks) {
      const bound = profile.upper(block, weighing) + term;
      if (bound === -Infinity || (!sieve.isOpen && sieve.wordsOf(block) === undefined)) continue;
      this.#bounds[block] = bound;
      this.#shared[block] = shared;
      this.#heap[this.#waiting] = block;
      this.#waiting += 1;
    }
  }

  /** Makes the first block's bound exact where that pays; false when another block comes first then. */
  #sharpen(block: number): boolean {
    const { profile, weighing, sieve, places } = this.#ask;
    if (profile.isExact(block, weighing)) return true;
    if (!sieve.isOpen && countUpTo(FEW, sieve.wordsOf(block)) < FEW) return true;
    profile.refresh(block, weighing);
    const bound = profile.bound(block, weighing) + (this.#shared[block]?.term ?? places.termMax);
    if (bound === this.#bounds[block]) return true;
    this.#bounds[block] = bound;
    this.#sink(0);
    return false;
  }

  #visitTied(block: number): void {
    const { profile, weighing, index } = this.#ask;
    const found = this.best as Found;
    // The hosts of a block that come up to its bound have no lower id than its leader.
    const told = this.#shared[block] !== undefined && profile.isExact(block, weighing);
    if (told && found.host < (index.table.ids[profile.leader(block)] as string)) return;
    this.#visit(block);
  }

  #visit(block: number): void {
    const { sieve, profile, weighing } = this.#ask;
    const shared = this.#shared[block];
    if (sieve.isOpen && shared !== undefined && profile.isExact(block, weighing)) {
      // Unless its group makes it worth less, nobody in the block is better.
      if (this.#consider(profile.leader(block), shared) && this.#score === this.#bounds[block]) return;
    }
    const words = sieve.wordsOf(block);
    if (words === undefined) return;
    for (let at = 0; at < BLOCK_WORDS; at += 1) {
      for (let word = words[at] as number; word !== 0; word &= word - 1) {
        this.#consider(block * BLOCK + at * 32 + lowestBit(word), shared);
      }
    }
  }

  /** Looks at one host that passes the sieve; true when there is no better one so far. */
  #consider(slot: number, shared: Place | undefined): boolean {
    const { profile, weighing, places, index, group, excludedHosts } = this.#ask;
    if (!profile.fits(slot)) return false;
    const score = profile.score(slot, weighing);
    const most = score + (shared?.term ?? places.termMax) + this.#membersAdd;
    if (most < this.#score) return false;
    const host = index.table.ids[slot] as string;
    if (excludedHosts.has(host) || group?.forbids(host) === true) return false;
    const place = shared ?? this.#placeAt(slot);
    if (place === undefined) return false;
    const whole = score + place.term + (group?.term(host) ?? 0);
    if (whole < this.#score || (whole === this.#score && (this.best as Found).host < host)) return false;
    this.best = { slot, host, pools: place.pools, score: whole };
    return true;
  }

  /** The place on a host that shares nothing with its block, if the request can have it there. */
  #placeAt(slot: number): Place | undefined {
    const { request, avoidedSites, places, index } = this.#ask;
    const { table } = index;
    const { site, zone } = table.hosts[slot] as { site: string; zone: string };
    if ((request.site ?? site) !== site || (request.zone ?? zone) !== zone || avoidedSites.has(site)) return undefined;
    return places.at(table.reaches[slot] as Reach, (resource) => table.leftOf(resource, slot));
  }

  #boundAt(at: number): number {
    return this.#bounds[this.#heap[at] as number] as number;
  }

  #pop(): void {
    this.#waiting -= 1;
    this.#heap[0] = this.#heap[this.#waiting] as number;
    this.#sink(0);
  }

  #heapify(): void {
    for (let at = (this.#waiting >>> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  #sink(from: number): void {
    const heap = this.#heap;
    let at = from;
    for (;;) {
      let most = at;
      for (let child = 2 * at + 1; child <= 2 * at + 2; child += 1) {
        if (child < this.#waiting && this.#boundAt(child) > this.#boundAt(most)) most = child;
      }
      if (most === at) return;
      [heap[at], heap[most]] = [heap[most] as number, heap[at] as number];
      at = most;
    }
  }
}

/** How many bits are set; no more than `limit` are counted. */
function countUpTo(limit: number, words: Uint32Array | undefined): number {
  let count = 0;
  for (const each of words ?? []) {
    for (let word = each; word !== 0 && count < limit; word &= word - 1) count += 1;
  }
  return count;
}
