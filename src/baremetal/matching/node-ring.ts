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

/** Positions lie next to each other: a search reads few places of the memory, and no entry is an object of its own. */
interface RingPart {
  readonly positions: number[];
  readonly ids: string[];
}

/** Ordered by position, then by id: two nodes may have one position. */
export class NodeRing {
  readonly #parts: RingPart[];
  #size: number;

  constructor(parts: RingPart[] = [], size = 0) {
    this.#parts = parts;
    this.#size = size;
  }

  get size(): number {
    return this.#size;
  }

  copy(): NodeRing {
    return new NodeRing(
      this.#parts.map(({ positions, ids }) => ({ positions: [...positions], ids: [...ids] })),
      this.#size,
    );
  }

  add(id: string): void {
    const position = ringPosition(id);
    this.#size += 1;
    if (this.#parts.length === 0) {
      this.#parts.push({ positions: [position], ids: [id] });
      return;
    }
    const nth = Math.min(this.#partOf(position, id), this.#parts.length - 1);
    const { positions, ids } = this.#parts[nth] as RingPart;
    const at = placeIn({ positions, ids }, position, id);
    positions.splice(at, 0, position);
    ids.splice(at, 0, id);
    if (ids.length <= PART_MAX) return;
    const half = ids.length >>> 1;
    this.#parts.splice(nth + 1, 0, { positions: positions.splice(half), ids: ids.splice(half) });
  }

  delete(id: string): void {
    const position = ringPosition(id);
    const nth = this.#partOf(position, id);
    const part = this.#parts[nth];
    if (part === undefined) return;
    const at = placeIn(part, position, id);
    if (part.ids[at] !== id) return;
    part.positions.splice(at, 1);
    part.ids.splice(at, 1);
    this.#size -= 1;
    if (part.ids.length === 0) this.#parts.splice(nth, 1);
  }

  /** The first entry at or after a position, once round; those that are excepted are passed over. */
  firstFrom(position: number, except?: ReadonlySet<string>): RingEntry | undefined {
    let nth = this.#partOf(position, '');
    let at = nth < this.#parts.length ? placeIn(this.#parts[nth] as RingPart, position, '') : 0;
    for (let seen = 0; seen < this.#size; seen += 1, at += 1) {
      while (at >= (this.#parts[nth]?.ids.length ?? 0)) [nth, at] = [nth + 1 < this.#parts.length ? nth + 1 : 0, 0];
      const { positions, ids } = this.#parts[nth] as RingPart;
      const id = ids[at] as string;
      if (except === undefined || !except.has(id)) return { position: positions[at] as number, id };
    }
    return undefined;
  }

  /** The first part whose last entry is not before this one; beyond all parts when there is none. */
  #partOf(position: number, id: string): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const part = this.#parts[middle] as RingPart;
      if (isBefore(part, part.ids.length - 1, position, id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The place of the first entry that is not before this one. */
function placeIn(part: RingPart, position: number, id: string): number {
  let low = 0;
  let high = part.ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(part, middle, position, id)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether an entry of a part comes before this position and id. */
function isBefore({ positions, ids }: RingPart, at: number, position: number, id: string): boolean {
  const own = positions[at] as number;
  return own < position || (own === position && (ids[at] as string) < id);
}
