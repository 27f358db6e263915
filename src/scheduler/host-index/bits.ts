// Sets of slots as bits, in pages that exist only where a bit is set: a trait of one host among 10^5 costs a page, not a row as long as the fleet.

/** Slots are scanned in blocks of this size: the unit of bounds, and of skipping. */
export const BLOCK = 64;
export const BLOCK_WORDS = BLOCK / 32;
/** Blocks per bay. All hosts of a bay are of one bay group; most bays are skipped as a whole. */
export const BAY_BLOCKS = 8;
export const BAY = BAY_BLOCKS * BLOCK;

const PAGE_BLOCKS = 32;
const PAGE_WORDS = PAGE_BLOCKS * BLOCK_WORDS;
const PAGE_SLOTS = PAGE_WORDS * 32;

export class Bits {
  readonly #pages: (Uint32Array | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  copy(): Bits {
    const copy = new Bits();
    for (const page of this.#pages) copy.#pages.push(page === undefined ? undefined : new Uint32Array(page));
    copy.#size = this.#size;
    return copy;
  }

  has(slot: number): boolean {
    const page = this.#pages[Math.floor(slot / PAGE_SLOTS)];
    return page !== undefined && (((page[(slot >>> 5) % PAGE_WORDS] as number) >>> (slot & 31)) & 1) === 1;
  }

  add(slot: number): void {
    const at = Math.floor(slot / PAGE_SLOTS);
    while (this.#pages.length <= at) this.#pages.push(undefined);
    const page = (this.#pages[at] ??= new Uint32Array(PAGE_WORDS));
    const word = (slot >>> 5) % PAGE_WORDS;
    const bit = (1 << (slot & 31)) >>> 0;
    if (((page[word] as number) & bit) !== 0) return;
    page[word] = (page[word] as number) | bit;
    this.#size += 1;
  }

  delete(slot: number): void {
    if (!this.has(slot)) return;
    const page = this.#pages[Math.floor(slot / PAGE_SLOTS)] as Uint32Array;
    const word = (slot >>> 5) % PAGE_WORDS;
    page[word] = (page[word] as number) & ~(1 << (slot & 31));
    this.#size -= 1;
  }

  /** Copies the words of a block; false when none of its bits is set. */
  copyTo(words: Uint32Array, block: number): boolean {
    const page = this.#pages[Math.floor(block / PAGE_BLOCKS)];
    if (page === undefined) return false;
    const from = (block % PAGE_BLOCKS) * BLOCK_WORDS;
    let any = 0;
    for (let at = 0; at < BLOCK_WORDS; at += 1) any |= words[at] = page[from + at] as number;
    return any !== 0;
  }

  /** Intersects the words of a block with this set; false when nothing is left. */
  keepIn(words: Uint32Array, block: number): boolean {
    const page = this.#pages[Math.floor(block / PAGE_BLOCKS)];
    if (page === undefined) return false;
    const from = (block % PAGE_BLOCKS) * BLOCK_WORDS;
    let any = 0;
    for (let at = 0; at < BLOCK_WORDS; at += 1) {
      any |= words[at] = (words[at] as number) & (page[from + at] as number);
    }
    return any !== 0;
  }

  /** Removes this set from the words of a block; false when nothing is left. */
  dropFrom(words: Uint32Array, block: number): boolean {
    const page = this.#pages[Math.floor(block / PAGE_BLOCKS)];
    if (page === undefined) return true;
    const from = (block % PAGE_BLOCKS) * BLOCK_WORDS;
    let any = 0;
    for (let at = 0; at < BLOCK_WORDS; at += 1) {
      any |= words[at] = (words[at] as number) & ~(page[from + at] as number);
    }
    return any !== 0;
  }
}

/** The position of a word's lowest bit. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/** Sets of slots by an attribute of hosts: a zone, a trait. */
export class Tags {
  readonly #byTag = new Map<string, Bits>();

  get(tag: string): Bits | undefined {
    return this.#byTag.get(tag);
  }

  copy(): Tags {
    const copy = new Tags();
    for (const [tag, bits] of this.#byTag) copy.#byTag.set(tag, bits.copy());
    return copy;
  }

  entries(): Iterable<readonly [tag: string, bits: Bits]> {
    return this.#byTag;
  }

  add(tag: string, slot: number): void {
    let bits = this.#byTag.get(tag);
    if (bits === undefined) this.#byTag.set(tag, (bits = new Bits()));
    bits.add(slot);
  }

  delete(tag: string, slot: number): void {
    const bits = this.#byTag.get(tag);
    bits?.delete(slot);
    if (bits?.size === 0) this.#byTag.delete(tag);
  }
}
