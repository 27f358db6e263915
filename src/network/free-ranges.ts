// The free addresses of a subnet as sorted ranges. Taking one, giving it back and finding the lowest free one cost
// O(log n) in the number of ranges, however many addresses there are: a /64 is one range.

interface Chunk {
  readonly starts: bigint[];
  readonly ends: bigint[];
}

/** Ranges per chunk: a splice stays within a few cache lines' worth of pointers. */
const CHUNK_RANGES_MAX = 256;

export interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

export class FreeRanges {
  readonly #chunks: Chunk[] = [];
  #size = 0n;

  constructor(ranges: readonly Range[]) {
    for (const range of ranges) this.#add(range.first, range.last);
  }

  /** How many addresses are free. */
  get size(): bigint {
    return this.#size;
  }

  /** The lowest free address. */
  first(): bigint | undefined {
    return this.#chunks[0]?.starts[0];
  }

  has(address: bigint): boolean {
    return this.#find(address) !== undefined;
  }

  /** Takes an address out; false when it was not free. */
  take(address: bigint): boolean {
    const place = this.#find(address);
    if (place === undefined) return false;
    const { at, nth } = place;
    const chunk = this.#chunks[at] as Chunk;
    const [start, end] = [chunk.starts[nth] as bigint, chunk.ends[nth] as bigint];
    this.#size -= 1n;
    if (start === end) this.#removeAt(at, nth);
    else if (address === start) chunk.starts[nth] = start + 1n;
    else if (address === end) chunk.ends[nth] = end - 1n;
    else {
      chunk.ends[nth] = address - 1n;
      this.#insertAt(at, nth + 1, address + 1n, end);
    }
    return true;
  }

  /** Gives an address back; false when it was free already. */
  give(address: bigint): boolean {
    if (this.has(address)) return false;
    this.#add(address, address);
    return true;
  }

  /** Adds a range that touches no free address, merging it with its neighbours. */
  #add(first: bigint, last: bigint): void {
    this.#size += last - first + 1n;
    const before = this.#find(first - 1n);
    const after = this.#find(last + 1n);
    if (before !== undefined && after !== undefined) {
      const end = (this.#chunks[after.at] as Chunk).ends[after.nth] as bigint;
      this.#removeAt(after.at, after.nth);
      (this.#chunks[before.at] as Chunk).ends[before.nth] = end;
    } else if (before !== undefined) (this.#chunks[before.at] as Chunk).ends[before.nth] = last;
    else if (after !== undefined) (this.#chunks[after.at] as Chunk).starts[after.nth] = first;
    else this.#insert(first, last);
  }

  #insert(first: bigint, last: bigint): void {
    if (this.#chunks.length === 0) this.#chunks.push({ starts: [], ends: [] });
    const at = Math.max(
      0,
      lastNotAbove(this.#chunks.length, (nth) => this.#chunks[nth]?.starts[0] as bigint, first),
    );
    const { starts } = this.#chunks[at] as Chunk;
    this.#insertAt(at, lastNotAbove(starts.length, (nth) => starts[nth] as bigint, first) + 1, first, last);
  }

  #insertAt(at: number, nth: number, first: bigint, last: bigint): void {
    const chunk = this.#chunks[at] as Chunk;
    chunk.starts.splice(nth, 0, first);
    chunk.ends.splice(nth, 0, last);
    if (chunk.starts.length <= CHUNK_RANGES_MAX) return;
    const half = CHUNK_RANGES_MAX >>> 1;
    this.#chunks.splice(at + 1, 0, { starts: chunk.starts.splice(half), ends: chunk.ends.splice(half) });
  }

  #removeAt(at: number, nth: number): void {
    const chunk = this.#chunks[at] as Chunk;
    chunk.starts.splice(nth, 1);
    chunk.ends.splice(nth, 1);
    if (chunk.starts.length === 0) this.#chunks.splice(at, 1);
  }

  /** The range that holds an address. */
  #find(address: bigint): { readonly at: number; readonly nth: number } | undefined {
    const at = lastNotAbove(this.#chunks.length, (nth) => this.#chunks[nth]?.starts[0] as bigint, address);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return undefined;
    const nth = lastNotAbove(chunk.starts.length, (one) => chunk.starts[one] as bigint, address);
    return (chunk.ends[nth] as bigint) >= address ? { at, nth } : undefined;
  }
}

/** The last of `length` sorted values that is not above `wanted`; -1 when all are. */
function lastNotAbove(length: number, valueAt: (nth: number) => bigint, wanted: bigint): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (valueAt(middle) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
