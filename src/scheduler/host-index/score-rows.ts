// Summaries of sets of hosts, a row for each: the best score, its host, and the ranges of their figures. A row is exact under the weighing it was built
// with; under another one it still gives an upper bound, so that a weighing may drift without a recomputation. A bound must never be too low.
import { DISK, FIGURES, MEMORY, VCPUS, type FigureColumn } from './host-table.ts';
import type { Weighing } from './weighing.ts';

/** The free amounts that a host must have. */
export interface RequiredResources {
  readonly memoryMiB: number;
  readonly vcpus: number;
  readonly diskGiB: number;
  /** A host with this many instances is full. */
  readonly instancesMax: number;
  readonly resources: readonly { readonly column: FigureColumn; readonly amount: number }[];
}

/** Every host fits, also an overcommitted one. */
export const NO_REQUIREMENTS: RequiredResources = {
  memoryMiB: -Infinity,
  vcpus: -Infinity,
  diskGiB: -Infinity,
  instancesMax: Infinity,
  resources: [],
};

/** A row: the least of each figure, then the most of each. */
const HIGH = FIGURES;
const ROW = 2 * FIGURES;

/** The rounding error of a sum of a few dozen products, relative to the size of its terms. */
const ROUNDING = 1e-13;

/** The host with the best score is unknown. */
const NO_LEADER = -1;

export class ScoreRows {
  /** The present versions of the sets. */
  readonly #versionsNow: () => Uint32Array;
  readonly #scoreOf: (slot: number, weighing: Weighing) => number;
  #rows = new Float64Array(0);
  #tops = new Float64Array(0);
  #leaders = new Int32Array(0);
  /** The version of the set that a row was built from; 0 for none. */
  #versions = new Uint32Array(0);
  /** Whether a part was evaluated since the row was built from them. */
  #loose = new Uint8Array(0);
  /** The weighing that a row was built with. */
  readonly #weighings: (Weighing | undefined)[] = [];

  constructor(versionsNow: () => Uint32Array, scoreOf: (slot: number, weighing: Weighing) => number) {
    this.#versionsNow = versionsNow;
    this.#scoreOf = scoreOf;
  }

  get size(): number {
    return this.#tops.length;
  }

  /** Whether the row matches the present figures. */
  isFresh(set: number): boolean {
    return set < this.#versions.length && this.#versions[set] === this.#versionsNow()[set];
  }

  /** Whether the bound is the score of a known host. */
  isExact(set: number, weighing: Weighing): boolean {
    return this.isFresh(set) && this.#weighings[set] === weighing && this.#leaders[set] !== NO_LEADER;
  }

  /** Whether the row's top is the bound as it stands, without a computation or a merge. */
  isSettled(set: number, weighing: Weighing): boolean {
    return this.#weighings[set] === weighing && this.#loose[set] === 0 && this.isFresh(set);
  }

  /** The bound of a row that is settled. */
  top(set: number): number {
    return this.#tops[set] as number;
  }

  isEmpty(set: number): boolean {
    return set >= this.#tops.length || this.#tops[set] === -Infinity;
  }

  /** The slot of the host with the best score, of several the one with the lowest id; only while the bound is exact. */
  leader(set: number): number {
    return this.#leaders[set] as number;
  }

  /** No host has a higher score. The row must be fresh. */
  bound(set: number, weighing: Weighing): number {
    const top = this.#tops[set] as number;
    const then = this.#weighings[set];
    if (then === weighing || then === undefined || top === -Infinity) return top;
    if (then.balance !== weighing.balance) return this.boxBound(set, weighing, NO_REQUIREMENTS);
    return this.#renewBound(set, then, weighing) ?? this.#driftedBound(set, then, weighing);
  }

  /**
   * If the leader has the best of every figure that counts, no host is better under any weighing in which the same figures count, and only hosts with
   * equal figures are as good: the row is exact under the new weighing too.
   */
  #renewBound(set: number, then: Weighing, weighing: Weighing): number | undefined {
    const leader = this.#leaders[set] as number;
    if (leader === NO_LEADER || weighing.pattern === undefined || weighing.pattern !== then.pattern) return undefined;
    const score = this.#scoreOf(leader, weighing);
    if (this.boxBound(set, weighing, NO_REQUIREMENTS) !== score) return undefined;
    this.#weighings[set] = weighing;
    this.#tops[set] = score;
    return score;
  }

  /**
   * The top under the row's own weighing, plus for each figure the most that the change of the weighing can add: that is linear in the figure too, so
   * it is largest at one of its ends.
   */
  #driftedBound(set: number, then: Weighing, { factors, origins }: Weighing): number {
    const rows = this.#rows;
    const top = this.#tops[set] as number;
    let bound = top + 0.5;
    let size = Math.abs(top);
    for (let at = set * ROW, figure = 0; figure < FIGURES; figure += 1, at += 1) {
      const factor = factors[figure] as number;
      const origin = origins[figure] as number;
      const factorThen = then.factors[figure] as number;
      const originThen = then.origins[figure] as number;
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

  /**
   * As if one host had the best of every figure. `wanted` excludes impossible values. The row must be fresh. The terms are added in the same order as
   * those of a score: rounding cannot make the sum of the larger ones the smaller.
   */
  boxBound(set: number, { factors, origins, balance }: Weighing, wanted: RequiredResources): number {
    const rows = this.#rows;
    let sum = 0;
    for (let at = set * ROW, figure = 0; figure < FIGURES; figure += 1, at += 1) {
      const factor = factors[figure] as number;
      const least = leastOf(wanted, figure);
      if ((rows[at + HIGH] as number) < least) return -Infinity;
      const best = factor > 0 ? (rows[at + HIGH] as number) : Math.max(rows[at] as number, least);
      if (factor !== 0) sum += factor * (best - (origins[figure] as number));
    }
    return balance === 0 ? Math.floor(sum + 0.5) : Math.floor(sum + Math.abs(balance) + 0.5) + 1;
  }

  /** Whether any host may have the amounts free, assessed by the maximum of each figure. The row must be fresh. */
  canFit(set: number, { memoryMiB, vcpus, diskGiB }: RequiredResources): boolean {
    const at = set * ROW + HIGH;
    const rows = this.#rows;
    if ((rows[at + MEMORY] as number) < memoryMiB || (rows[at + VCPUS] as number) < vcpus) return false;
    return (rows[at + DISK] as number) >= diskGiB;
  }

  /** Writes a row: the ranges of all figures, the best score, and the slot of its host. */
  write(set: number, weighing: Weighing, { ends, top, leader }: RowContent): void {
    this.#reserve(set);
    this.#rows.set(ends, set * ROW);
    this.#weighings[set] = weighing;
    this.#versions[set] = this.#versionsNow()[set] as number;
    this.#tops[set] = top;
    this.#leaders[set] = leader;
    this.#loose[set] = 0;
  }

  /** One of the set's parts was evaluated: its row may be more precise than theirs. */
  markLoose(set: number): void {
    this.#reserve(set);
    this.#loose[set] = 1;
  }

  isLoose(set: number): boolean {
    return this.#loose[set] === 1;
  }

  /** Builds a row from those of its parts, which must be fresh. `isBefore` compares the hosts in two slots. */
  join(set: number, parts: ScoreRows, weighing: Weighing, { from, to, isBefore }: PartRange): void {
    ENDS.fill(Infinity, 0, HIGH);
    ENDS.fill(-Infinity, HIGH);
    let top = -Infinity;
    let leader = NO_LEADER;
    for (let part = from; part < to; part += 1) {
      if (parts.isEmpty(part)) continue;
      parts.#widen(part);
      const bound = parts.bound(part, weighing);
      const its = parts.isExact(part, weighing) ? parts.leader(part) : NO_LEADER;
      if (bound > top) leader = its;
      else if (bound === top && leader !== NO_LEADER && (its === NO_LEADER || isBefore(its, leader))) leader = its;
      top = Math.max(top, bound);
    }
    this.write(set, weighing, { ends: ENDS, top, leader });
  }

  #widen(set: number): void {
    const rows = this.#rows;
    for (let at = set * ROW, figure = 0; figure < HIGH; figure += 1, at += 1) {
      ENDS[figure] = Math.min(ENDS[figure] as number, rows[at] as number);
      ENDS[HIGH + figure] = Math.max(ENDS[HIGH + figure] as number, rows[at + HIGH] as number);
    }
  }

  /** The minimum of a figure over all rows, or the maximum. */
  extreme(figure: number, end: 'low' | 'high'): number {
    const rows = this.#rows;
    let extreme = end === 'low' ? Infinity : -Infinity;
    // The row of an empty set has its ends swapped, which changes neither.
    for (let at = end === 'low' ? figure : figure + HIGH; at < rows.length; at += ROW) {
      const value = rows[at] as number;
      if (end === 'low' ? value < extreme : value > extreme) extreme = value;
    }
    return extreme;
  }

  /** The range of a figure. */
  low(set: number, figure: number): number {
    return set < this.size ? (this.#rows[set * ROW + figure] as number) : Infinity;
  }

  high(set: number, figure: number): number {
    return set < this.size ? (this.#rows[set * ROW + HIGH + figure] as number) : -Infinity;
  }

  #reserve(set: number): void {
    if (set < this.size) return;
    const size = this.#versionsNow().length;
    const [rows, tops, leaders] = [this.#rows, this.#tops, this.#leaders];
    const versions = this.#versions;
    this.#rows = new Float64Array(size * ROW);
    for (let at = 0; at < this.#rows.length; at += ROW) {
      this.#rows.fill(Infinity, at, at + HIGH);
      this.#rows.fill(-Infinity, at + HIGH, at + ROW);
    }
    this.#rows.set(rows);
    (this.#tops = new Float64Array(size).fill(-Infinity)).set(tops);
    (this.#leaders = new Int32Array(size)).set(leaders);
    (this.#versions = new Uint32Array(size)).set(versions);
    const loose = this.#loose;
    (this.#loose = new Uint8Array(size)).set(loose);
    while (this.#weighings.length < size) this.#weighings.push(undefined);
  }
}

/** The result of evaluating a set's hosts. */
interface RowContent {
  readonly ends: Float64Array;
  readonly top: number;
  readonly leader: number;
}

/** A buffer for the ends of one row: no function here is recursive. */
const ENDS = new Float64Array(ROW);

/** The parts of a set: from one up to before another. */
interface PartRange {
  readonly from: number;
  readonly to: number;
  readonly isBefore: (slot: number, other: number) => boolean;
}

function leastOf(wanted: RequiredResources, figure: number): number {
  if (figure === MEMORY) return wanted.memoryMiB;
  if (figure === VCPUS) return wanted.vcpus;
  return figure === DISK ? wanted.diskGiB : -Infinity;
}
