// Finds the best host: exactly, and without evaluating each. Blocks of hosts are visited in the order of their upper bounds, until none is left that
// could be better than the result. Of equally good hosts the one with the lowest id is chosen: the answer must never depend on the order in which hosts
// joined.
import type { PoolKey } from '../../network/index.ts';
import type { PreparedRequest } from './prepared-request.ts';
import { BAY_BLOCKS, BLOCK, BLOCK_WORDS, lowestBit } from '../host-index/bits.ts';
import type { BayGroup, NetworkReach } from '../host-index/bay-groups.ts';
import type { NicPlacement } from '../nics/nic-placements.ts';
import type { BoundHeap } from './bound-heap.ts';

export interface BestHost {
  readonly slot: number;
  readonly host: string;
  readonly pools: readonly PoolKey[];
  /** In score units. */
  readonly score: number;
}

/** With this few candidates in a block they are evaluated one by one, rather than the block as a whole. */
const FEW_HOSTS = 12;

const NO_TERMS: Float64Array = new Float64Array(0);

export function findBest(prepared: PreparedRequest): BestHost | undefined {
  if (prepared.filter.isEmpty) return undefined;
  const search = new Search(prepared);
  const { onlyHost } = prepared.request;
  if (onlyHost !== undefined) search.considerHosts([onlyHost]);
  else if (prepared.group?.confines === true) search.considerHosts(prepared.group.hosts());
  else {
    // Hosts with attracting members score higher than the bounds of their blocks: they are evaluated first.
    if (prepared.group?.attracts === true) search.considerHosts(prepared.group.hosts());
    search.run();
  }
  return search.best;
}

class Search {
  readonly #prepared: PreparedRequest;
  best: BestHost | undefined;
  /** Blocks and bays that are still to be visited. A bay is named by its number after those of the blocks. */
  readonly #heap: BoundHeap;
  readonly #blocks: number;
  /** By bay: no place on one of its hosts adds more. */
  #terms: Float64Array = NO_TERMS;
  /** The most that its group can add to a host that was not evaluated yet. */
  #membersAdd = 0;

  constructor(prepared: PreparedRequest) {
    this.#prepared = prepared;
    const { blocks, bays } = prepared.index.table;
    this.#blocks = blocks;
    this.#heap = prepared.index.heap;
    this.#heap.clear(blocks + bays);
  }

  /** Evaluates hosts by name. */
  considerHosts(hosts: Iterable<string>): void {
    this.#membersAdd = this.#prepared.group?.termMax ?? 0;
    for (const host of hosts) {
      const slot = this.#prepared.index.slotOf(host);
      if (slot !== undefined && this.#prepared.filter.has(slot)) this.#consider(slot, undefined);
    }
    this.#membersAdd = 0;
  }

  run(): void {
    const { index, places, profile, weighing } = this.#prepared;
    const waiting = this.#heap;
    this.#terms = places.termsOfBays(index.bayGroups);
    const highest = this.#setBounds(profile.upperBoundsOfBays(weighing));
    profile.refreshSome(weighing);
    if (highest !== undefined) this.#visitFirst(highest * BAY_BLOCKS);
    this.#enqueueBays();
    waiting.heapify();
    while (waiting.size > 0 && waiting.boundAt(0) > this.#score) {
      const set = waiting.at(0);
      if (this.#isBay(set)) {
        waiting.pop();
        this.#expandBay(set);
      } else if (this.#refreshBound(set)) {
        waiting.pop();
        this.#visit(set);
      }
    }
    if (this.best !== undefined) this.#visitTied();
  }

  /** Visits the best block of a bay first: its result excludes most of the rest. */
  #visitFirst(from: number): void {
    let best = from;
    for (let block = from; block < from + BAY_BLOCKS; block += 1) {
      this.#heap.setBound(block, this.#upperBound(block));
      if (this.#heap.boundOf(block) > this.#heap.boundOf(best)) best = block;
    }
    if (this.#canVisit(best)) this.#visit(best);
  }

  get #score(): number {
    return this.best === undefined ? -Infinity : this.best.score;
  }

  #isBay(set: number): boolean {
    return set >= this.#blocks;
  }

  /**
   * Sets the bounds of all bays: -Infinity for those without a candidate. Returns the one with the highest. A loop over hundreds, for every
   * request.
   */
  #setBounds(uppers: Float64Array): number | undefined {
    const terms = this.#terms;
    const { bounds } = this.#heap;
    const bays = this.#blocks;
    for (let bay = 0; bay < terms.length; bay += 1) {
      bounds[bays + bay] = (uppers[bay] as number) + (terms[bay] as number);
    }
    this.#excludeBays(bounds);
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

  /** Skips bays of other sites and zones, and those of which no host passes the filter. */
  #excludeBays(bounds: Float64Array): void {
    const { index, request, avoidedSites, filter } = this.#prepared;
    if (request.site !== undefined || request.zone !== undefined || avoidedSites.size > 0) {
      for (const bayGroup of index.bayGroups.list()) {
        if (bayGroup.reach === undefined || this.#isEligibleBayGroup(bayGroup)) continue;
        for (const bay of bayGroup.bays) bounds[this.#blocks + bay] = -Infinity;
      }
    }
    if (filter.passesAll) return;
    for (let bay = 0; bay < this.#terms.length; bay += 1) {
      const set = this.#blocks + bay;
      if (bounds[set] !== -Infinity && !filter.hasAnyIn(bay)) bounds[set] = -Infinity;
    }
  }

  /** Adds the bays that reach the present result. */
  #enqueueBays(): void {
    const { bounds } = this.#heap;
    const score = this.#score;
    for (let bay = 0; bay < this.#terms.length; bay += 1) {
      const bound = bounds[this.#blocks + bay] as number;
      if (bound >= score && bound !== -Infinity) this.#heap.append(this.#blocks + bay);
    }
  }

  #isEligibleBayGroup({ site, zone }: BayGroup): boolean {
    const { request, avoidedSites } = this.#prepared;
    if (request.site !== undefined && request.site !== site) return false;
    if (request.zone !== undefined && request.zone !== zone) return false;
    return !avoidedSites.has(site);
  }

  /** Puts the blocks of a bay in its place. */
  #expandBay(set: number): void {
    const from = (set - this.#blocks) * BAY_BLOCKS;
    for (let block = from; block < from + BAY_BLOCKS; block += 1) {
      const bound = this.#upperBound(block);
      if (bound === -Infinity || bound < this.#score || !this.#canVisit(block)) continue;
      this.#heap.push(block, bound);
    }
  }

  #upperBound(block: number): number {
    return this.#prepared.profile.upperBoundOfBlock(block, this.#prepared.weighing) + this.#termOf(block);
  }

  #termOf(block: number): number {
    return this.#terms[Math.floor(block / BAY_BLOCKS)] as number;
  }

  #canVisit(block: number): boolean {
    const { filter } = this.#prepared;
    return filter.passesAll || filter.maskOf(block) !== undefined;
  }

  /** Makes the first block's bound exact where that pays; false when another one comes first then. */
  #refreshBound(block: number): boolean {
    if (!this.#isWorthRefresh(block)) return true;
    this.#prepared.profile.refresh(block, this.#prepared.weighing);
    const bound = this.#upperBound(block);
    if (bound === this.#heap.boundOf(block)) return true;
    this.#heap.setBound(block, bound);
    this.#heap.siftDown(0);
    return false;
  }

  /** Whether to evaluate a block as a whole: its row is imprecise, and it has many candidates. */
  #isWorthRefresh(block: number): boolean {
    const { profile, weighing, filter } = this.#prepared;
    if (profile.leaderOfBlock(block, weighing) !== -1) return false;
    return filter.passesAll || countUpTo(FEW_HOSTS, filter.maskOf(block)) === FEW_HOSTS;
  }

  /** Visits blocks that can at most equal the result: they matter if they have a lower id. */
  #visitTied(): void {
    for (let place = 0; place < this.#heap.size; place += 1) {
      const set = this.#heap.at(place);
      if (this.#heap.boundOf(set) !== this.#score) continue;
      if (!this.#isBay(set)) this.#visitTiedBlock(set);
      else if (!this.#isNoEarlier(set)) {
        const from = (set - this.#blocks) * BAY_BLOCKS;
        for (let block = from; block < from + BAY_BLOCKS; block += 1) this.#visitTiedBlock(block);
      }
    }
  }

  #visitTiedBlock(block: number): void {
    // The block's own bound may be higher than that of its bay: it is older and less precise.
    const bound = this.#upperBound(block);
    this.#heap.setBound(block, bound);
    if (bound < this.#score || !this.#canVisit(block)) return;
    if (bound === this.#score && this.#isNoEarlier(block)) return;
    if (this.#isWorthRefresh(block)) {
      this.#prepared.profile.refresh(block, this.#prepared.weighing);
      this.#visitTiedBlock(block);
    } else this.#visit(block);
  }

  /** Whether no host of a block or bay that reaches its bound has a lower id than the result. */
  #isNoEarlier(set: number): boolean {
    const { profile, weighing, index } = this.#prepared;
    const bay = this.#isBay(set) ? set - this.#blocks : Math.floor(set / BAY_BLOCKS);
    if (!this.#isShared(bay)) return false;
    const bound = this.#heap.boundOf(set) - (this.#terms[bay] as number);
    const earliest = this.#isBay(set)
      ? profile.earliestOfBay(bay, weighing, bound)
      : profile.earliestOfBlock(set, weighing, bound);
    return earliest !== undefined && (this.best as BestHost).host <= (index.table.ids[earliest] as string);
  }

  /** Whether all hosts of a bay have the same placement. */
  #isShared(bay: number): boolean {
    const { places, index } = this.#prepared;
    return !places.needsBandwidth && (!index.isMixed || index.bayGroups.groupOfBay(bay).reach !== undefined);
  }

  /** Whether the result comes before another host that is as good. */
  #isBefore(host: string): boolean {
    return this.best !== undefined && this.best.host < host;
  }

  #visit(block: number): void {
    const { filter, profile, weighing, places, index } = this.#prepared;
    const shared = places.findSharedPlacement(index.bayGroups.groupOfBay(Math.floor(block / BAY_BLOCKS)));
    const leader = filter.passesAll && shared !== undefined ? profile.leaderOfBlock(block, weighing) : -1;
    // Unless its group lowers its score, no host in the block is better.
    if (leader !== -1 && this.#consider(leader, shared) && this.#score === this.#heap.boundOf(block)) return;
    const words = filter.maskOf(block);
    if (words === undefined) return;
    for (let at = 0; at < BLOCK_WORDS; at += 1) {
      for (let word = words[at] as number; word !== 0; word &= word - 1) {
        this.#consider(block * BLOCK + at * 32 + lowestBit(word), shared);
      }
    }
  }

  /** Evaluates one host that passes the filter; true when there is no better one so far. */
  #consider(slot: number, shared: NicPlacement | undefined): boolean {
    const { profile, weighing, places, index, group, excludedHosts } = this.#prepared;
    if (!profile.fits(slot)) return false;
    const score = profile.score(slot, weighing);
    const most = score + (shared?.term ?? places.termMax) + this.#membersAdd;
    if (most < this.#score) return false;
    const host = index.table.ids[slot] as string;
    if (excludedHosts.has(host) || group?.isForbidden(host) === true) return false;
    const place = shared ?? this.#placementAt(slot);
    if (place === undefined) return false;
    const whole = score + place.term + (group?.term(host) ?? 0);
    if (whole < this.#score || (whole === this.#score && this.#isBefore(host))) return false;
    this.best = { slot, host, pools: place.pools, score: whole };
    return true;
  }

  /** The placement on a host that shares nothing with its block, if possible. */
  #placementAt(slot: number): NicPlacement | undefined {
    const { request, avoidedSites, places, index } = this.#prepared;
    const { table } = index;
    const { site, zone } = table.hosts[slot] as { site: string; zone: string };
    if ((request.site ?? site) !== site || (request.zone ?? zone) !== zone || avoidedSites.has(site)) return undefined;
    return places.placementOn(table.reaches[slot] as NetworkReach, (resource) => table.leftOf(resource, slot));
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
