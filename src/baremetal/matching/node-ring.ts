// Free nodes of one shape on a ring of hashes: a request starts at the hash of its instance and takes the first node from there on. Requests spread
// over the ring, the same request finds the same node again, and only one place of the ring is looked at, however many nodes there are.

/** 31 bits: numbers of this size cost no memory of their own. */
const RING_BITS = 31;
export const RING_SIZE = 2 ** RING_BITS;

/** The place of a text on the ring: FNV-1a, mixed once more, since similar names would else stand next to each other. */
export function ringPosition(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 1;
}

/** How far one goes from a place on the ring to another. */
export function ringDistance(from: number, to: number): number {
  return to >= from ? to - from : to - from + RING_SIZE;
}

export interface RingEntry {
  readonly position: number;
  readonly id: string;
}

/** A part that grows beyond this is halved: an insertion moves so many entries at most. */
const PART_MAX = 256;

/** Ordered by position, then by id: two nodes may have one position. */
export class NodeRing {
  readonly #parts: RingEntry[][];
  #size: number;

  constructor(parts: RingEntry[][] = [], size = 0) {
    this.#parts = parts;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  copy(): NodeRing {
    return new NodeRing(
      this.#parts.map((part) => [...part]),
      this.#size,
    );
  }

  add(id: string): void {
    const entry = { position: ringPosition(id), id };
    this.#size += 1;
    if (this.#parts.length === 0) {
      this.#parts.push([entry]);
      return;
    }
    const nth = Math.min(this.#partOf(entry), this.#parts.length - 1);
    const part = this.#parts[nth] as RingEntry[];
    part.splice(placeIn(part, entry), 0, entry);
    if (part.length > PART_MAX) this.#parts.splice(nth + 1, 0, part.splice(part.length >>> 1));
  }

  delete(id: string): void {
    const entry = { position: ringPosition(id), id };
    const nth = this.#partOf(entry);
    const part = this.#parts[nth];
    if (part === undefined) return;
    const at = placeIn(part, entry);
    if (part[at]?.id !== id) return;
    part.splice(at, 1);
    this.#size -= 1;
    if (part.length === 0) this.#parts.splice(nth, 1);
  }

  /** The first entry at or after a position, once round; those that are excepted are passed over. */
  firstFrom(position: number, except?: ReadonlySet<string>): RingEntry | undefined {
    const start = { position, id: '' };
    let nth = this.#partOf(start);
    let at = placeIn(this.#parts[nth] ?? [], start);
    for (let seen = 0; seen < this.#size; seen += 1, at += 1) {
      while (at >= (this.#parts[nth]?.length ?? 0)) [nth, at] = [nth + 1 < this.#parts.length ? nth + 1 : 0, 0];
      const entry = (this.#parts[nth] as RingEntry[])[at] as RingEntry;
      if (except === undefined || !except.has(entry.id)) return entry;
    }
    return undefined;
  }

  /** The first part whose last entry is not before this one; beyond all parts when there is none. */
  #partOf(entry: RingEntry): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore((this.#parts[middle] as RingEntry[]).at(-1) as RingEntry, entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The place of the first entry that is not before this one. */
function placeIn(part: readonly RingEntry[], entry: RingEntry): number {
  let low = 0;
  let high = part.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(part[middle] as RingEntry, entry)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(one: RingEntry, other: RingEntry): boolean {
  return one.position < other.position || (one.position === other.position && one.id < other.id);
}
