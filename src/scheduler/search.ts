// Finding the best host: exact, and without looking at each. Blocks of hosts are visited in the order of what their best
// host can have at most, until none is left that could be better than what was found. Of hosts that are equally good the
// one with the lowest id is taken, so that the answer does not depend on the order in which hosts came.
import type { PoolKey } from '../network/index.ts';
import type { Ask } from './ask.ts';
import { BAY_BLOCKS, BLOCK, BLOCK_WORDS, lowestBit } from './bits.ts';
import type { Cluster, Reach } from './clusters.ts';
import type { Place } from './places.ts';
import type { WaitingSets } from './waiting-sets.ts';

export interface Found {
  readonly slot: number;
  readonly host: string;
  readonly pools: readonly PoolKey[];
  /** In score units. */
  readonly score: number;
}

/** With so few hosts of a block in question they are looked at one by one, rather than the block as a whole. */
const FEW = 12;

const NO_TERMS: Float64Array = new Float64Array(0);

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
  /** Blocks and bays that are still to be visited. A bay is named by its number after those of the blocks. */
  readonly #waiting: WaitingSets;
  readonly #blocks: number;
  /** By bay: no place on one of its hosts adds more. */
  #terms: Float64Array = NO_TERMS;
  /** The most that its group can add to a host which was not looked at yet. */
  #membersAdd = 0;

  constructor(ask: Ask) {
    this.#ask = ask;
    const { blocks, bays } = ask.index.table;
    this.#blocks = blocks;
    this.#waiting = ask.index.waiting;
    this.#waiting.clear(blocks + bays);
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
    const { index, places, profile, weighing } = this.#ask;
    const waiting = this.#waiting;
    this.#terms = places.termsOfBays(index.clusters);
    const highest = this.#boundAll(profile.uppersOfBays(weighing));
    profile.tidy(weighing);
    if (highest !== undefined) this.#visitFirst(highest * BAY_BLOCKS);
    this.#enterAll();
    waiting.putInOrder();
    while (waiting.size > 0 && waiting.boundAt(0) > this.#score) {
      const set = waiting.at(0);
      if (this.#isBay(set)) {
        waiting.pop();
        this.#open(set);
      } else if (this.#sharpen(set)) {
        waiting.pop();
        this.#visit(set);
      }
    }
    if (this.best !== undefined) this.#visitTied();
  }

  /** Visits the best block of a bay beforehand: what it has puts most of the rest out of the question. */
  #visitFirst(from: number): void {
    let best = from;
    for (let block = from; block < from + BAY_BLOCKS; block += 1) {
      this.#waiting.setBound(block, this.#upper(block));
      if (this.#waiting.boundOf(block) > this.#waiting.boundOf(best)) best = block;
    }
    if (this.#mayVisit(best)) this.#visit(best);
  }

  get #score(): number {
    return this.best === undefined ? -Infinity : this.best.score;
  }

  #isBay(set: number): boolean {
    return set >= this.#blocks;
  }

  /**
   * Sets the bounds of all bays: -Infinity for those with no host that may be chosen. Answers the one with the highest. A
   * loop over hundreds, for every request.
   */
  #boundAll(uppers: Float64Array): number | undefined {
    const terms = this.#terms;
    const { bounds } = this.#waiting;
    const bays = this.#blocks;
    for (let bay = 0; bay < terms.length; bay += 1) {
      bounds[bays + bay] = (uppers[bay] as number) + (terms[bay] as number);
    }
    this.#passOver(bounds);
    let highest: number | undefined;
    let most = -Infinity;
    for (let bay = 0; bay < terms.length; bay += 1) {
      const bound = bounds[bays + bay] as number;
      if (bound <= most) continue;
      most = bound;
      highest = bay;
    }
    return highest;
  }

  /** Passes over bays of sites and zones that are not asked for, and those of which no host passes the sieve. */
  #passOver(bounds: Float64Array): void {
    const { index, request, avoidedSites, sieve } = this.#ask;
    if (request.site !== undefined || request.zone !== undefined || avoidedSites.size > 0) {
      for (const cluster of index.clusters.all()) {
        if (cluster.reach === undefined || this.#isAskedFor(cluster)) continue;
        for (const bay of cluster.bays) bounds[this.#blocks + bay] = -Infinity;
      }
    }
    if (sieve.isOpen) return;
    for (let bay = 0; bay < this.#terms.length; bay += 1) {
      const set = this.#blocks + bay;
      if (bounds[set] !== -Infinity && !sieve.touches(bay)) bounds[set] = -Infinity;
    }
  }

  /** Takes in the bays that come up to what was found. */
  #enterAll(): void {
    const { bounds } = this.#waiting;
    const score = this.#score;
    for (let bay = 0; bay < this.#terms.length; bay += 1) {
      const bound = bounds[this.#blocks + bay] as number;
      if (bound >= score && bound !== -Infinity) this.#waiting.append(this.#blocks + bay);
    }
  }

  #isAskedFor({ site, zone }: Cluster): boolean {
    const { request, avoidedSites } = this.#ask;
    if (request.site !== undefined && request.site !== site) return false;
    if (request.zone !== undefined && request.zone !== zone) return false;
    return !avoidedSites.has(site);
  }

  /** Puts the blocks of a bay in its place. */
  #open(set: number): void {
    const from = (set - this.#blocks) * BAY_BLOCKS;
    for (let block = from; block < from + BAY_BLOCKS; block += 1) {
      const bound = this.#upper(block);
      if (bound === -Infinity || bound < this.#score || !this.#mayVisit(block)) continue;
      this.#waiting.push(block, bound);
    }
  }

  #upper(block: number): number {
    return this.#ask.profile.upperOfBlock(block, this.#ask.weighing) + this.#termOf(block);
  }

  #termOf(block: number): number {
    return this.#terms[Math.floor(block / BAY_BLOCKS)] as number;
  }

  #mayVisit(block: number): boolean {
    const { sieve } = this.#ask;
    return sieve.isOpen || sieve.wordsOf(block) !== undefined;
  }

  /** Makes the first block's bound exact where that pays; false when another one comes first then. */
  #sharpen(block: number): boolean {
    if (!this.#isWorthALook(block)) return true;
    this.#ask.profile.refresh(block, this.#ask.weighing);
    const bound = this.#upper(block);
    if (bound === this.#waiting.boundOf(block)) return true;
    this.#waiting.setBound(block, bound);
    this.#waiting.sink(0);
    return false;
  }

  /** Whether to look at a block as a whole: its row tells less than it could, and so many hosts are in question. */
  #isWorthALook(block: number): boolean {
    const { profile, weighing, sieve } = this.#ask;
    if (profile.leaderOfBlock(block, weighing) !== -1) return false;
    return sieve.isOpen || countUpTo(FEW, sieve.wordsOf(block)) === FEW;
  }

  /** Visits what can at most be as good as what was found: that is of interest if it has a lower id. */
  #visitTied(): void {
    for (let place = 0; place < this.#waiting.size; place += 1) {
      const set = this.#waiting.at(place);
      if (this.#waiting.boundOf(set) !== this.#score) continue;
      if (!this.#isBay(set)) this.#visitTiedBlock(set);
      else if (!this.#comesNoSooner(set)) {
        const from = (set - this.#blocks) * BAY_BLOCKS;
        for (let block = from; block < from + BAY_BLOCKS; block += 1) this.#visitTiedBlock(block);
      }
    }
  }

  #visitTiedBlock(block: number): void {
    // The block's own bound may be higher than that of its bay: it is older and says less.
    const bound = this.#upper(block);
    this.#waiting.setBound(block, bound);
    if (bound < this.#score || !this.#mayVisit(block)) return;
    if (bound === this.#score && this.#comesNoSooner(block)) return;
    if (this.#isWorthALook(block)) {
      this.#ask.profile.refresh(block, this.#ask.weighing);
      this.#visitTiedBlock(block);
    } else this.#visit(block);
  }

  /** Whether no host of a block or bay that comes up to its bound has a lower id than the one that was found. */
  #comesNoSooner(set: number): boolean {
    const { profile, weighing, index } = this.#ask;
    const bay = this.#isBay(set) ? set - this.#blocks : Math.floor(set / BAY_BLOCKS);
    if (!this.#isShared(bay)) return false;
    const bound = this.#waiting.boundOf(set) - (this.#terms[bay] as number);
    const earliest = this.#isBay(set)
      ? profile.earliestOfBay(bay, weighing, bound)
      : profile.earliestOfBlock(set, weighing, bound);
    return earliest !== undefined && (this.best as Found).host <= (index.table.ids[earliest] as string);
  }

  /** Whether all hosts of a bay have the same place. */
  #isShared(bay: number): boolean {
    const { places, index } = this.#ask;
    return !places.needsBandwidth && (!index.isMixed || index.clusters.ofBay(bay).reach !== undefined);
  }

  /** Whether the host that was found comes before another one that is as good. */
  #isBefore(host: string): boolean {
    return this.best !== undefined && this.best.host < host;
  }

  #visit(block: number): void {
    const { sieve, profile, weighing, places, index } = this.#ask;
    const shared = places.sharedIn(index.clusters.ofBay(Math.floor(block / BAY_BLOCKS)));
    const leader = sieve.isOpen && shared !== undefined ? profile.leaderOfBlock(block, weighing) : -1;
    // Unless its group makes it worth less, nobody in the block is better.
    if (leader !== -1 && this.#consider(leader, shared) && this.#score === this.#waiting.boundOf(block)) return;
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
}

/** How many bits are set; no more than `limit` are counted. */
function countUpTo(limit: number, words: Uint32Array | undefined): number {
  let count = 0;
  for (const each of words ?? []) {
    for (let word = each; word !== 0 && count < limit; word &= word - 1) count += 1;
  }
  return count;
}
