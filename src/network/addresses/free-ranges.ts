// The free addresses of a subnet as sorted ranges: a /64 is one range, however many addresses it has. The lowest free address costs O(1), any
// other O(log n) of the ranges. A change moves at most one chunk's worth of ranges; the list of chunks itself changes only when a chunk is
// split or joined, which takes at least `CHUNK_RANGES_MAX / 4` changes.

interface Chunk {
  readonly starts: bigint[];
  readonly ends: bigint[];
}

/** Ranges per chunk: a splice stays within a few cache lines' worth of pointers. */
export const CHUNK_RANGES_MAX = 256;
/** A chunk with fewer is joined with its neighbour where both fit, so that a shrinking fleet leaves no small chunks. */
const CHUNK_RANGES_MIN = CHUNK_RANGES_MAX / 4;

export interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

/** The place of the first range. */
const FRONT = { at: 0, nth: 0 };

export class FreeRanges {
  readonly #chunks: Chunk[] = [];
  #size = 0n;

  /** Ranges that do not overlap, in any order. */
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

  /** The lowest free address that is not below this one. */
  firstFrom(address: bigint): bigint | undefined {
    const { at, nth } = this.#locate(address);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return this.first();
    if ((chunk.ends[nth] as bigint) >= address) return address;
    return chunk.starts[nth + 1] ?? this.#chunks[at + 1]?.starts[0];
  }

  has(address: bigint): boolean {
    return this.#find(address) !== undefined;
  }

  /** Takes an address out; false when it was not free. */
  take(address: bigint): boolean {
    // Addresses are picked from the front: most need no search.
    const place = address === this.first() ? FRONT : this.#find(address);
    if (place === undefined) return false;
    const { at, nth } = place;
    const chunk = this.#chunks[at] as Chunk;
    const start = chunk.starts[nth] as bigint;
    const end = chunk.ends[nth] as bigint;
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

  /** Releases an address; false when it was free already. */
  give(address: bigint): boolean {
    if (this.has(address)) return false;
    this.#add(address, address);
    return true;
  }

  /** How many ranges each chunk has. */
  chunkSizes(): number[] {
    return this.#chunks.map((chunk) => chunk.starts.length);
  }

  /** Adds a range that touches no free address, merging it with its neighbours. */
  #add(first: bigint, last: bigint): void {
    this.#size += last - first + 1n;
    const before = this.#find(first - 1n);
    const after = this.#find(last + 1n);
    if (before !== undefined && after !== undefined) {
      (this.#chunks[before.at] as Chunk).ends[before.nth] = (this.#chunks[after.at] as Chunk).ends[after.nth] as bigint;
      this.#removeAt(after.at, after.nth);
    } else if (before !== undefined) (this.#chunks[before.at] as Chunk).ends[before.nth] = last;
    else if (after !== undefined) (this.#chunks[after.at] as Chunk).starts[after.nth] = first;
    else this.#insert(first, last);
  }

  #insert(first: bigint, last: bigint): void {
    if (this.#chunks.length === 0) this.#chunks.push({ starts: [], ends: [] });
    const { at, nth } = this.#locate(first);
    this.#insertAt(Math.max(0, at), nth + 1, first, last);
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
    else if (chunk.starts.length < CHUNK_RANGES_MIN) this.#join(at);
  }

  /** Joins a small chunk with a neighbour if the result leaves room for more. */
  #join(at: number): void {
    const left = at === 0 ? 0 : at - 1;
    const [one, other] = [this.#chunks[left], this.#chunks[left + 1]];
    if (one === undefined || other === undefined) return;
    if (one.starts.length + other.starts.length > CHUNK_RANGES_MAX - CHUNK_RANGES_MIN) return;
    one.starts.push(...other.starts);
    one.ends.push(...other.ends);
    this.#chunks.splice(left + 1, 1);
  }

  /** The range that holds an address. */
  #find(address: bigint): { readonly at: number; readonly nth: number } | undefined {
    const place = this.#locate(address);
    const end = this.#chunks[place.at]?.ends[place.nth];
    return end !== undefined && end >= address ? place : undefined;
  }

  /** The last range that begins at or before an address; -1 in both when none does. */
  #locate(address: bigint): { readonly at: number; readonly nth: number } {
    const at = floorIndex(this.#chunks.length, (nth) => this.#chunks[nth]?.starts[0] as bigint, address);
    const starts = this.#chunks[at]?.starts;
    if (starts === undefined) return { at: -1, nth: -1 };
    return { at, nth: floorIndex(starts.length, (nth) => starts[nth] as bigint, address) };
  }
}

/** The last of `length` sorted values that is not above `wanted`; -1 when all are. */
export function floorIndex(length: number, valueAt: (nth: number) => bigint, wanted: bigint): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (valueAt(middle) <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
