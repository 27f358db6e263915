// What is known, block by block, of the hosts on which some amounts fit: the best score, who has it, and between which
// values their figures lie. A block's row holds under the weighing it was made with; under another one it still gives an
// upper bound, so that a weighing may drift without anything being worked out anew.
import { BLOCK, BLOCK_WORDS, lowestBit } from './bits.ts';
import { DISK, FAILURES, FIGURES, INSTANCES, MEMORY, VCPUS, type Column, type HostTable } from './host-table.ts';
import { balanceOf, type Weighing } from './weighing.ts';

/** What a host must have left. */
export interface Wanted {
  readonly memoryMiB: number;
  readonly vcpus: number;
  readonly diskGiB: number;
  /** A host with as many instances takes no more. */
  readonly instancesMax: number;
  readonly resources: readonly { readonly column: Column; readonly amount: number }[];
}

/** Every host will do, also one that has promised more than it has. */
export const NOTHING_WANTED: Wanted = {
  memoryMiB: -Infinity,
  vcpus: -Infinity,
  diskGiB: -Infinity,
  instancesMax: Infinity,
  resources: [],
};

/** A row: least and most of each figure, and the weighing it was made with. */
const HIGH = FIGURES;
const FACTORS = 2 * FIGURES;
const ORIGINS = 3 * FIGURES;
const BALANCE = 4 * FIGURES;
const ROW = BALANCE + 1;

/** By how much a sum of a few dozen products may be off, for the size of its terms. */
const ROUNDING = 1e-13;

/** How many rows `tidy` looks at and works out each time: about as much as one request changes. */
const TIDY_LOOKS = 32;
const TIDY_ROWS = 2;

export class Profile {
  readonly #table: HostTable;
  readonly #wanted: Wanted;
  #rows = new Float64Array(0);
  #tops = new Float64Array(0);
  #leaders = new Int32Array(0);
  /** The version of the block that the row is of; 0 for none. */
  #versions = new Uint32Array(0);
  #epochs = new Uint32Array(0);
  #tidied = 0;

  constructor(table: HostTable, wanted: Wanted) {
    this.#table = table;
    this.#wanted = wanted;
  }

  fits(slot: number): boolean {
    const { figures } = this.#table;
    const { memoryMiB, vcpus, diskGiB, instancesMax, resources } = this.#wanted;
    const at = slot * FIGURES;
    if ((figures[at + MEMORY] as number) < memoryMiB || (figures[at + VCPUS] as number) < vcpus) return false;
    if ((figures[at + DISK] as number) < diskGiB || (figures[at + INSTANCES] as number) >= instancesMax) return false;
    for (const { column, amount } of resources) if (column.at(slot) < amount) return false;
    return true;
  }

  /** A host's score, in whole score units. */
  score(slot: number, { factors, origins, balance }: Weighing): number {
    const { figures } = this.#table;
    const at = slot * FIGURES;
    const sum =
      (factors[MEMORY] as number) * ((figures[at + MEMORY] as number) - (origins[MEMORY] as number)) +
      (factors[VCPUS] as number) * ((figures[at + VCPUS] as number) - (origins[VCPUS] as number)) +
      (factors[DISK] as number) * ((figures[at + DISK] as number) - (origins[DISK] as number)) +
      (factors[INSTANCES] as number) * ((figures[at + INSTANCES] as number) - (origins[INSTANCES] as number)) +
      (factors[FAILURES] as number) * ((figures[at + FAILURES] as number) - (origins[FAILURES] as number));
    return Math.floor((balance === 0 ? sum : sum + balance * this.#balanceAt(slot)) + 0.5);
  }

  #balanceAt(slot: number): number {
    const { figures, perWhole } = this.#table;
    const { memoryMiB, vcpus } = this.#wanted;
    return balanceOf(
      ((figures[slot * FIGURES + MEMORY] as number) - memoryMiB) * (perWhole[slot * 2] as number),
      ((figures[slot * FIGURES + VCPUS] as number) - vcpus) * (perWhole[slot * 2 + 1] as number),
    );
  }

  /** Whether the block's row is of the figures as they are. */
  isFresh(block: number): boolean {
    return block < this.#versions.length && this.#versions[block] === this.#table.versions[block];
  }

  /** Whether the bound is a score that some host of the block has. */
  isExact(block: number, weighing: Weighing): boolean {
    return this.isFresh(block) && this.#epochs[block] === weighing.epoch;
  }

  /** The host with the block's best score, of several the one with the lowest id; only while the bound is exact. */
  leader(block: number): number {
    return this.#leaders[block] as number;
  }

  /** No host of the block on which the amounts fit has a higher score. The row must be fresh. */
  bound(block: number, weighing: Weighing): number {
    const top = this.#tops[block] as number;
    if (this.#epochs[block] === weighing.epoch || top === -Infinity) return top;
    const sameBalance = this.#rows[block * ROW + BALANCE] === weighing.balance;
    return sameBalance ? this.#drifted(block, top, weighing) : this.box(block, weighing, NOTHING_WANTED);
  }

  /**
   * The top under the row's own weighing, and for each figure the most that the change of the weighing can add: that is
   * linear in the figure too, so most at one of its ends.
   */
  #drifted(block: number, top: number, { factors, origins }: Weighing): number {
    const rows = this.#rows;
    let bound = top + 0.5;
    let size = Math.abs(top);
    for (let at = block * ROW, figure = 0; figure < FIGURES; figure += 1, at += 1) {
      const factor = factors[figure] as number;
      const origin = origins[figure] as number;
      const factorThen = rows[at + FACTORS] as number;
      const originThen = rows[at + ORIGINS] as number;
      if (factor === factorThen && origin === originThen) continue;
      const low = rows[at] as number;
      const high = rows[at + HIGH] as number;
      const lowThen = factorThen * (low - originThen);
      const highThen = factorThen * (high - originThen);
      const lowNow = factor * (low - origin);
      const highNow = factor * (high - origin);
      const atLow = lowNow - lowThen;
      const atHigh = highNow - highThen;
      bound += atLow > atHigh ? atLow : atHigh;
      size += Math.abs(lowNow) + Math.abs(lowThen) + Math.abs(highNow) + Math.abs(highThen);
    }
    return Math.ceil(bound + size * ROUNDING);
  }

  /** As if one host had the best of every figure in the block. `wanted` cuts off what cannot be chosen. */
  box(block: number, { factors, origins, balance }: Weighing, wanted: Wanted): number {
    const rows = this.#rows;
    let bound = Math.max(0, balance);
    let size = Math.abs(balance);
    for (let at = block * ROW, figure = 0; figure < FIGURES; figure += 1, at += 1) {
      const factor = factors[figure] as number;
      const least = leastOf(wanted, figure);
      if ((rows[at + HIGH] as number) < least) return -Infinity;
      const best = factor > 0 ? (rows[at + HIGH] as number) : Math.max(rows[at] as number, least);
      const term = factor === 0 ? 0 : factor * (best - (origins[figure] as number));
      bound += term;
      size += Math.abs(term);
    }
    return Math.ceil(bound + 0.5 + size * ROUNDING);
  }

  /** Looks at every host of a block. */
  refresh(block: number, weighing: Weighing): void {
    this.#reserve(block);
    const at = block * ROW;
    const rows = this.#rows;
    rows.fill(Infinity, at, at + HIGH);
    rows.fill(-Infinity, at + HIGH, at + FACTORS);
    rows.set(weighing.factors, at + FACTORS);
    rows.set(weighing.origins, at + ORIGINS);
    rows[at + BALANCE] = weighing.balance;
    this.#epochs[block] = weighing.epoch;
    this.#versions[block] = this.#table.versions[block] as number;
    this.#rank(block, weighing);
  }

  #rank(block: number, weighing: Weighing): void {
    const { schedulable, ids } = this.#table;
    let top = -Infinity;
    let leader = -1;
    if (schedulable.copyTo(WORDS, block)) {
      for (let at = 0; at < BLOCK_WORDS; at += 1) {
        for (let word = WORDS[at] as number; word !== 0; word &= word - 1) {
          const slot = block * BLOCK + at * 32 + lowestBit(word);
          if (!this.fits(slot)) continue;
          this.#widen(block * ROW, slot * FIGURES);
          const score = this.score(slot, weighing);
          if (score < top || (score === top && (ids[leader] as string) < (ids[slot] as string))) continue;
          top = score;
          leader = slot;
        }
      }
    }
    this.#tops[block] = top;
    this.#leaders[block] = leader;
  }

  #widen(at: number, from: number): void {
    const rows = this.#rows;
    const { figures } = this.#table;
    for (let figure = 0; figure < FIGURES; figure += 1) {
      const value = figures[from + figure] as number;
      if (value < (rows[at + figure] as number)) rows[at + figure] = value;
      if (value > (rows[at + HIGH + figure] as number)) rows[at + HIGH + figure] = value;
    }
  }

  /** Whether any host of the block may have the amounts left, as far as the most of each tells. The row must be fresh. */
  mayFit(block: number, { memoryMiB, vcpus, diskGiB }: Wanted): boolean {
    const at = block * ROW + HIGH;
    const rows = this.#rows;
    if ((rows[at + MEMORY] as number) < memoryMiB || (rows[at + VCPUS] as number) < vcpus) return false;
    return (rows[at + DISK] as number) >= diskGiB;
  }

  /** Brings a few rows up to the weighing, so that one that lasts finds all of them exact after a while. */
  tidy(weighing: Weighing): void {
    const blocks = this.#versions.length;
    for (let looked = 0, done = 0; looked < TIDY_LOOKS && done < TIDY_ROWS && looked < blocks; looked += 1) {
      this.#tidied = this.#tidied + 1 < blocks ? this.#tidied + 1 : 0;
      const block = this.#tidied;
      if (this.#tops[block] === -Infinity || this.#epochs[block] === weighing.epoch || !this.isFresh(block)) continue;
      this.refresh(block, weighing);
      done += 1;
    }
  }

  /** The least of a figure over all blocks, or the most. */
  extreme(figure: number, end: 'low' | 'high'): number {
    const rows = this.#rows;
    const to = this.#tops.length * ROW;
    let extreme = end === 'low' ? Infinity : -Infinity;
    // A block without hosts has its ends the wrong way round, which changes neither.
    for (let at = end === 'low' ? figure : figure + HIGH; at < to; at += ROW) {
      const value = rows[at] as number;
      if (end === 'low' ? value < extreme : value > extreme) extreme = value;
    }
    return extreme;
  }

  /** Between which values a figure lies in a block. */
  low(block: number, figure: number): number {
    return block < this.#tops.length ? (this.#rows[block * ROW + figure] as number) : Infinity;
  }

  high(block: number, figure: number): number {
    return block < this.#tops.length ? (this.#rows[block * ROW + HIGH + figure] as number) : -Infinity;
  }

  #reserve(block: number): void {
    if (block < this.#versions.length) return;
    const blocks = this.#table.blocks;
    const [rows, tops, leaders] = [this.#rows, this.#tops, this.#leaders];
    const [versions, epochs] = [this.#versions, this.#epochs];
    this.#rows = new Float64Array(blocks * ROW);
    for (let at = 0; at < this.#rows.length; at += ROW) {
      this.#rows.fill(Infinity, at, at + HIGH);
      this.#rows.fill(-Infinity, at + HIGH, at + FACTORS);
    }
    this.#rows.set(rows);
    (this.#tops = new Float64Array(blocks).fill(-Infinity)).set(tops);
    (this.#leaders = new Int32Array(blocks)).set(leaders);
    (this.#versions = new Uint32Array(blocks)).set(versions);
    (this.#epochs = new Uint32Array(blocks)).set(epochs);
  }
}

/** Rooms for the words of one block: nothing here calls itself. */
const WORDS = new Uint32Array(BLOCK_WORDS);

function leastOf(wanted: Wanted, figure: number): number {
  if (figure === MEMORY) return wanted.memoryMiB;
  if (figure === VCPUS) return wanted.vcpus;
  return figure === DISK ? wanted.diskGiB : -Infinity;
}
