// The hosts that a request may have by the words they carry: all of these sets, and none of those.
import { BAY_BLOCKS, BLOCK_WORDS, type Bits } from './bits.ts';
import type { HostIndex } from './host-index.ts';
import type { ScheduleRequest } from './request.ts';

export class Sieve {
  readonly #schedulable: Bits;
  readonly #required: Bits[] = [];
  readonly #forbidden: Bits[] = [];
  readonly #words = new Uint32Array(BLOCK_WORDS);
  /** No host carries one of the words that are asked for. */
  readonly isEmpty: boolean;

  constructor(index: HostIndex, request: ScheduleRequest) {
    const { aggregates = [], requiredTraits = [], forbiddenTraits = [], site, zone, serviceVersion = 0 } = request;
    const required = [
      ...aggregates.map((name) => index.aggregates.get(name)),
      ...requiredTraits.map((name) => index.traits.get(name)),
    ];
    // Otherwise the search passes over whole clusters of other sites and zones.
    if (index.isMixed && site !== undefined) required.push(index.sites.get(site));
    if (index.isMixed && zone !== undefined) required.push(index.zones.get(zone));
    this.#schedulable = index.table.schedulable;
    this.isEmpty = required.includes(undefined);
    for (const bits of required) if (bits !== undefined) this.#required.push(bits);
    // The rarest word first: most blocks have none of its hosts.
    this.#required.sort((one, other) => one.size - other.size);
    for (const name of forbiddenTraits) {
      const bits = index.traits.get(name);
      if (bits !== undefined) this.#forbidden.push(bits);
    }
    if (serviceVersion > 0) this.#forbidden.push(...index.olderThan(serviceVersion));
  }

  /** Whether every host that can be scheduled to passes. */
  get isOpen(): boolean {
    return this.#required.length === 0 && this.#forbidden.length === 0;
  }

  has(slot: number): boolean {
    if (!this.#schedulable.has(slot)) return false;
    return this.#required.every((bits) => bits.has(slot)) && !this.#forbidden.some((bits) => bits.has(slot));
  }

  /** Whether any host of a bay passes. */
  touches(bay: number): boolean {
    for (let block = bay * BAY_BLOCKS; block < (bay + 1) * BAY_BLOCKS; block += 1) {
      if (this.wordsOf(block) !== undefined) return true;
    }
    return false;
  }

  /** The hosts of a block that pass, as words that are good until the next call; undefined when none does. */
  wordsOf(block: number): Uint32Array | undefined {
    const words = this.#words;
    if (!this.#schedulable.copyTo(words, block)) return undefined;
    for (const bits of this.#required) if (!bits.keepIn(words, block)) return undefined;
    for (const bits of this.#forbidden) if (!bits.dropFrom(words, block)) return undefined;
    return words;
  }
}
