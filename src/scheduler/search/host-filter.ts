// The hosts that a request may have by their attributes: all of the required sets, none of the forbidden ones.
import { BAY_BLOCKS, BLOCK_WORDS, type Bits } from '../host-index/bits.ts';
import type { HostIndex } from '../host-index/host-index.ts';
import type { ScheduleRequest } from '../request.ts';

const NO_TAGS: readonly string[] = [];

export class HostFilter {
  readonly #schedulable: Bits;
  readonly #required: Bits[] = [];
  readonly #forbidden: Bits[] = [];
  /** Built when a block is evaluated: most requests never need it. */
  #words: Uint32Array | undefined;
  #isEmpty = false;

  constructor(index: HostIndex, request: ScheduleRequest) {
    const { aggregates = NO_TAGS, requiredTraits = NO_TAGS, forbiddenTraits = NO_TAGS } = request;
    const { site, zone, serviceVersion = 0 } = request;
    this.#schedulable = index.table.schedulable;
    for (const name of aggregates) this.#require(index.aggregates.get(name));
    for (const name of requiredTraits) this.#require(index.traits.get(name));
    // Otherwise the search skips whole bay groups of other sites and zones.
    if (index.isMixed && site !== undefined) this.#require(index.sites.get(site));
    if (index.isMixed && zone !== undefined) this.#require(index.zones.get(zone));
    // The rarest attribute first: most blocks have none of its hosts.
    if (this.#required.length > 1) this.#required.sort((one, other) => one.size - other.size);
    for (const name of forbiddenTraits) {
      const bits = index.traits.get(name);
      if (bits !== undefined) this.#forbidden.push(bits);
    }
    if (serviceVersion > 0) index.addOlderThan(serviceVersion, this.#forbidden);
  }

  #require(bits: Bits | undefined): void {
    if (bits === undefined) this.#isEmpty = true;
    else this.#required.push(bits);
  }

  /** No host has one of the required attributes. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Whether every schedulable host passes. */
  get passesAll(): boolean {
    return this.#required.length === 0 && this.#forbidden.length === 0;
  }

  has(slot: number): boolean {
    if (!this.#schedulable.has(slot)) return false;
    return this.#required.every((bits) => bits.has(slot)) && !this.#forbidden.some((bits) => bits.has(slot));
  }

  /** Whether any host of a bay passes. */
  hasAnyIn(bay: number): boolean {
    for (let block = bay * BAY_BLOCKS; block < (bay + 1) * BAY_BLOCKS; block += 1) {
      if (this.maskOf(block) !== undefined) return true;
    }
    return false;
  }

  /** The passing hosts of a block, as words that are valid until the next call; undefined when none passes. */
  maskOf(block: number): Uint32Array | undefined {
    const words = (this.#words ??= new Uint32Array(BLOCK_WORDS));
    if (!this.#schedulable.copyTo(words, block)) return undefined;
    for (const bits of this.#required) if (!bits.keepIn(words, block)) return undefined;
    for (const bits of this.#forbidden) if (!bits.dropFrom(words, block)) return undefined;
    return words;
  }
}
