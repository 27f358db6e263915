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
  /** The most that a block's best host can have; by block. */
  readonly #bounds: Float64Array;
  /** Blocks that are still to be visited; once it is a heap, no bound is higher than the first one's. */
  readonly #heap: Int32Array;
  #waiting = 0;
  /** The most that its group can add to a host which was not looked at yet. */
  #membersAdd = 0;
  /** The place that all hosts of a block share; undefined where each has its own. */
  readonly #shared: (Place | undefined)[];

  constructor(ask: Ask) {
    this.#ask = ask;
    ({ bounds: this.#bounds, heap: this.#heap, shared: this.#shared } = roomFor(ask.index.table.blocks));
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
    this.#ask.profile.tidy(this.#ask.weighing);
    this.#visitFirst();
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

  /** Visits the block with the highest bound. What it has is enough to put most of the others out of the question. */
  #visitFirst(): void {
    let first = 0;
    for (let at = 1; at < this.#waiting; at += 1) if (this.#boundAt(at) > this.#boundAt(first)) first = at;
    if (this.#waiting === 0) return;
    this.#visit(this.#heap[first] as number);
    const [score, waiting] = [this.#score, this.#waiting];
    this.#waiting = 0;
    for (let at = 0; at < waiting; at += 1) {
      const block = this.#heap[at] as number;
      if (at === first || (this.#bounds[block] as number) < score) continue;
      this.#heap[this.#waiting] = block;
      this.#waiting += 1;
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
    if (!this.#isWorthALook(block)) return true;
    this.#ask.profile.refresh(block, this.#ask.weighing);
    const bound = this.#exactBound(block);
    if (bound === this.#bounds[block]) return true;
    this.#bounds[block] = bound;
    this.#sink(0);
    return false;
  }

  /** Whether to look at a block as a whole: its row tells less than it could, and so many hosts are in question. */
  #isWorthALook(block: number): boolean {
    const { profile, weighing, sieve } = this.#ask;
    if (profile.isExact(block, weighing)) return false;
    return sieve.isOpen || countUpTo(FEW, sieve.wordsOf(block)) === FEW;
  }

  #exactBound(block: number): number {
    const { profile, weighing, places } = this.#ask;
    return profile.bound(block, weighing) + (this.#shared[block]?.term ?? places.termMax);
  }

  /** A block whose best host can at most be as good as what was found: it is of interest if its id is lower. */
  #visitTied(block: number): void {
    const { profile, weighing, index } = this.#ask;
    const [bound, shared] = [this.#bounds[block] as number, this.#shared[block]];
    if (shared !== undefined) {
      const earliest = profile.earliest(block, weighing, bound - shared.term);
      if (earliest !== undefined && this.#isBefore(index.table.ids[earliest] as string)) return;
    }
    if (this.#isWorthALook(block)) {
      profile.refresh(block, weighing);
      this.#bounds[block] = this.#exactBound(block);
      if (this.#bounds[block] === bound) this.#visitTied(block);
    } else this.#visit(block);
  }

  /** Whether the host that was found comes before another one that is as good. */
  #isBefore(host: string): boolean {
    return this.best !== undefined && this.best.host < host;
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
    if (whole < this.#score || (whole === this.#score && this.#isBefore(host))) return false;
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

/** What a search works with. One search ends before the next begins, so they share it. */
const room = { bounds: new Float64Array(0), heap: new Int32Array(0), shared: [] as (Place | undefined)[] };

function roomFor(blocks: number): typeof room {
  if (room.bounds.length < blocks) {
    room.bounds = new Float64Array(blocks);
    room.heap = new Int32Array(blocks);
    room.shared = Array.from({ length: blocks }, () => undefined);
  }
  return room;
}

/** How many bits are set; no more than `limit` are counted. */
function countUpTo(limit: number, words: Uint32Array | undefined): number {
  let count = 0;
  for (const each of words ?? []) {
    for (let word = each; word !== 0 && count < limit; word &= word - 1) count += 1;
  }
  return count;
}
