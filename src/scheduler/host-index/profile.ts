// The scores of the hosts on which some amounts fit, summarised in rows by block and by bay.
import { BAY_BLOCKS, BLOCK, BLOCK_WORDS, lowestBit } from './bits.ts';
import { DISK, FAILURES, FIGURES, INSTANCES, MEMORY, VCPUS, type HostTable } from './host-table.ts';
import { ScoreRows, type RequiredResources } from './score-rows.ts';
import { imbalanceOf, type Weighing } from './weighing.ts';

/** How many rows `tidy` checks and computes in one call: about as many as one request changes. */
const REFRESH_SCANS = 32;
const REFRESH_ROWS = 2;

export class Profile {
  protected readonly table: HostTable;
  protected readonly required: RequiredResources;
  readonly blocks: ScoreRows;
  readonly bays: ScoreRows;
  #refreshCursor = 0;
  /** How many rows `tidy` has computed. */
  refreshedRows = 0;

  constructor(table: HostTable, wanted: RequiredResources) {
    this.table = table;
    this.required = wanted;
    const scoreOf = (slot: number, weighing: Weighing): number => this.score(slot, weighing);
    this.blocks = new ScoreRows(() => table.blockVersions, scoreOf);
    this.bays = new ScoreRows(() => table.bayVersions, scoreOf);
  }

  fits(slot: number): boolean {
    const { figures } = this.table;
    const { memoryMiB, vcpus, diskGiB, instancesMax, resources } = this.required;
    const at = slot * FIGURES;
    if ((figures[at + MEMORY] as number) < memoryMiB || (figures[at + VCPUS] as number) < vcpus) return false;
    if ((figures[at + DISK] as number) < diskGiB || (figures[at + INSTANCES] as number) >= instancesMax) return false;
    return resources.length === 0 || this.#hasResources(slot);
  }

  #hasResources(slot: number): boolean {
    return this.required.resources.every(({ column, amount }) => column.at(slot) >= amount);
  }

  /** A host's score, in whole score units. */
  score(slot: number, { factors, origins, balance }: Weighing): number {
    const { figures } = this.table;
    const at = slot * FIGURES;
    const sum =
      (factors[MEMORY] as number) * ((figures[at + MEMORY] as number) - (origins[MEMORY] as number)) +
      (factors[VCPUS] as number) * ((figures[at + VCPUS] as number) - (origins[VCPUS] as number)) +
      (factors[DISK] as number) * ((figures[at + DISK] as number) - (origins[DISK] as number)) +
      (factors[INSTANCES] as number) * ((figures[at + INSTANCES] as number) - (origins[INSTANCES] as number)) +
      (factors[FAILURES] as number) * ((figures[at + FAILURES] as number) - (origins[FAILURES] as number));
    return Math.floor((balance === 0 ? sum : sum + balance * this.#balanceGain(slot)) + 0.5);
  }

  /** By how much the amounts balance a host's free memory and vcpus; below 0 when they do the reverse. */
  #balanceGain(slot: number): number {
    const { figures, inverseTotals } = this.table;
    const { memoryMiB, vcpus } = this.required;
    if (memoryMiB === -Infinity) return 0;
    const memoryLeft = figures[slot * FIGURES + MEMORY] as number;
    const vcpusLeft = figures[slot * FIGURES + VCPUS] as number;
    const perMemory = inverseTotals[slot * 2] as number;
    const perVcpus = inverseTotals[slot * 2 + 1] as number;
    const after = imbalanceOf((memoryLeft - memoryMiB) * perMemory, (vcpusLeft - vcpus) * perVcpus);
    return imbalanceOf(memoryLeft * perMemory, vcpusLeft * perVcpus) - after;
  }

  /** Evaluates every host of a block. */
  refresh(block: number, weighing: Weighing): void {
    ENDS.fill(Infinity, 0, FIGURES);
    ENDS.fill(-Infinity, FIGURES);
    const leader = this.table.schedulable.copyTo(WORDS, block) ? this.#scanBlock(block, weighing) : -1;
    const top = leader === -1 ? -Infinity : this.score(leader, weighing);
    this.blocks.write(block, weighing, { ends: ENDS, top, leader });
    this.bays.markLoose(Math.floor(block / BAY_BLOCKS));
  }

  /** Finds the best host among those in WORDS, and the ENDS of all of them. The cost of a refresh is here. */
  #scanBlock(block: number, weighing: Weighing): number {
    const { figures } = this.table;
    // Where slots and ids are in the same order, the first of equal hosts is the one with the lowest id.
    const inOrder = this.table.isInOrder(Math.floor(block / BAY_BLOCKS));
    let top = -Infinity;
    let leader = -1;
    for (let at = 0; at < BLOCK_WORDS; at += 1) {
      for (let word = WORDS[at] as number; word !== 0; word &= word - 1) {
        const slot = block * BLOCK + at * 32 + lowestBit(word);
        if (!this.fits(slot)) continue;
        extendEnds(figures[slot * FIGURES] as number, MEMORY);
        extendEnds(figures[slot * FIGURES + VCPUS] as number, VCPUS);
        extendEnds(figures[slot * FIGURES + DISK] as number, DISK);
        extendEnds(figures[slot * FIGURES + INSTANCES] as number, INSTANCES);
        extendEnds(figures[slot * FIGURES + FAILURES] as number, FAILURES);
        const score = this.score(slot, weighing);
        if (score < top || (score === top && (inOrder || this.#isBefore(leader, slot)))) continue;
        top = score;
        leader = slot;
      }
    }
    return leader;
  }

  readonly #isBefore = (slot: number, other: number): boolean => {
    const { ids } = this.table;
    return (ids[slot] as string) < (ids[other] as string);
  };

  /** Builds the row of a bay from those of its blocks, where that is more precise than the present row; false if it has none. */
  ensureRow(bay: number, weighing: Weighing): boolean {
    if (this.bays.isFresh(bay) && !this.bays.isLoose(bay)) return true;
    const from = bay * BAY_BLOCKS;
    for (let block = from; block < from + BAY_BLOCKS; block += 1) {
      if (!this.blocks.isFresh(block)) return this.bays.isFresh(bay);
    }
    // Where slots and ids are in the same order the ids need not be read: they are scattered in memory.
    const isBefore = this.table.isInOrder(bay) ? isLower : this.#isBefore;
    this.bays.join(bay, this.blocks, weighing, { from, to: from + BAY_BLOCKS, isBefore });
    return true;
  }

  /** Updates a few rows to the weighing, so that under a stable weighing all of them become exact. */
  refreshSome(weighing: Weighing): void {
    const rows = this.blocks;
    for (let looked = 0, done = 0; looked < REFRESH_SCANS && done < REFRESH_ROWS && looked < rows.size; looked += 1) {
      this.#refreshCursor = this.#refreshCursor + 1 < rows.size ? this.#refreshCursor + 1 : 0;
      const block = this.#refreshCursor;
      if (rows.isEmpty(block) || !rows.isFresh(block) || rows.isExact(block, weighing)) continue;
      this.refresh(block, weighing);
      done += 1;
      this.refreshedRows += 1;
    }
  }
}

const isLower = (slot: number, other: number): boolean => slot < other;

/** A buffer for the words of one block and the results: no function here is recursive. */
const WORDS = new Uint32Array(BLOCK_WORDS);
/** The minimum of each figure, then the maximum of each. */
const ENDS = new Float64Array(2 * FIGURES);

function extendEnds(value: number, figure: number): void {
  if (value < (ENDS[figure] as number)) ENDS[figure] = value;
  if (value > (ENDS[FIGURES + figure] as number)) ENDS[FIGURES + figure] = value;
}
