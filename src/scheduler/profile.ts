// The hosts on which some amounts fit: what their scores are, and what is known of them block by block and bay by bay.
import { BAY_BLOCKS, BLOCK, BLOCK_WORDS, lowestBit } from './bits.ts';
import { DISK, FAILURES, FIGURES, INSTANCES, MEMORY, VCPUS, type HostTable } from './host-table.ts';
import { Rows, type Wanted } from './rows.ts';
import { apart, type Weighing } from './weighing.ts';

/** How many rows `tidy` looks at and works out each time: about as much as one request changes. */
const TIDY_LOOKS = 32;
const TIDY_ROWS = 2;

export class Profile {
  readonly #table: HostTable;
  protected readonly wanted: Wanted;
  readonly blocks: Rows;
  readonly bays: Rows;
  #tidied = 0;

  constructor(table: HostTable, wanted: Wanted) {
    this.#table = table;
    this.wanted = wanted;
    this.blocks = new Rows(() => table.blockVersions);
    this.bays = new Rows(() => table.bayVersions);
  }

  fits(slot: number): boolean {
    const { figures } = this.#table;
    const { memoryMiB, vcpus, diskGiB, instancesMax, resources } = this.wanted;
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
    return Math.floor((balance === 0 ? sum : sum + balance * this.#evening(slot)) + 0.5);
  }

  /** By how much the amounts even out what is left of a host's memory and vcpus; less than 0 when they do the reverse. */
  #evening(slot: number): number {
    const { figures, perWhole } = this.#table;
    const { memoryMiB, vcpus } = this.wanted;
    if (memoryMiB === -Infinity) return 0;
    const memoryLeft = figures[slot * FIGURES + MEMORY] as number;
    const vcpusLeft = figures[slot * FIGURES + VCPUS] as number;
    const perMemory = perWhole[slot * 2] as number;
    const perVcpus = perWhole[slot * 2 + 1] as number;
    const after = apart((memoryLeft - memoryMiB) * perMemory, (vcpusLeft - vcpus) * perVcpus);
    return apart(memoryLeft * perMemory, vcpusLeft * perVcpus) - after;
  }

  /** Looks at every host of a block. */
  refresh(block: number, weighing: Weighing): void {
    const { schedulable, figures } = this.#table;
    const rows = this.blocks;
    rows.begin(block, weighing);
    let top = -Infinity;
    let leader = -1;
    if (schedulable.copyTo(WORDS, block)) {
      for (let at = 0; at < BLOCK_WORDS; at += 1) {
        for (let word = WORDS[at] as number; word !== 0; word &= word - 1) {
          const slot = block * BLOCK + at * 32 + lowestBit(word);
          if (!this.fits(slot)) continue;
          rows.widen(block, figures, slot);
          const score = this.score(slot, weighing);
          if (score < top || (score === top && !this.#isBefore(slot, leader))) continue;
          top = score;
          leader = slot;
        }
      }
    }
    rows.end(block, top, leader);
    this.#join(Math.floor(block / BAY_BLOCKS), weighing);
  }

  /** Makes the row of a bay out of those of its blocks, if all of them are fresh. */
  #join(bay: number, weighing: Weighing): void {
    const from = bay * BAY_BLOCKS;
    for (let block = from; block < from + BAY_BLOCKS; block += 1) if (!this.blocks.isFresh(block)) return;
    this.bays.join(bay, this.blocks, weighing, { from, to: from + BAY_BLOCKS, isBefore: this.#isBefore });
  }

  readonly #isBefore = (slot: number, other: number): boolean => {
    const { ids } = this.#table;
    return (ids[slot] as string) < (ids[other] as string);
  };

  /** Brings a few rows up to the weighing, so that one that lasts finds all of them exact after a while. */
  tidy(weighing: Weighing): void {
    const rows = this.blocks;
    for (let looked = 0, done = 0; looked < TIDY_LOOKS && done < TIDY_ROWS && looked < rows.size; looked += 1) {
      this.#tidied = this.#tidied + 1 < rows.size ? this.#tidied + 1 : 0;
      const block = this.#tidied;
      if (rows.isEmpty(block) || !rows.isFresh(block) || rows.isExact(block, weighing)) continue;
      this.refresh(block, weighing);
      done += 1;
    }
  }
}

/** Room for the words of one block: nothing here calls itself. */
const WORDS = new Uint32Array(BLOCK_WORDS);
