// A set of ids that can be walked in id order. A snapshot brings its ids in order, so they are only appended; ids that come
// out of order are kept apart until the set is walked, and so are those that leave a large set: one that is never walked is never
// sorted, and a change of it costs no more than a small set's.

/** Up to so many ids are put in their places, or taken out, one by one: each moves half of the rest, which is memory only. */
const PLACED_ONE_BY_ONE_MAX = 64;
/** A smaller set is as soon without an id as it is noted. */
const NOTED_FROM = 256;

export class SortedIds {
  #sorted: string[] = [];
  /** Never in `#sorted`, and never empty: most sets are small, and there are many. */
  #late: Set<string> | undefined;
  /** Still in `#sorted`, and deleted. Never empty. */
  #gone: Set<string> | undefined;

  get size(): number {
    return this.#sorted.length - (this.#gone?.size ?? 0) + (this.#late?.size ?? 0);
  }

  has(id: string): boolean {
    if (this.#late?.has(id) === true) return true;
    return this.#sorted[lowerBound(this.#sorted, id)] === id && this.#gone?.has(id) !== true;
  }

  /** Whether an id comes after all that are here. False may also mean that it is not known without sorting. */
  isBeyond(id: string): boolean {
    if (this.#late !== undefined) return false;
    const { length } = this.#sorted;
    return length === 0 || (this.#sorted[length - 1] as string) < id;
  }

  add(id: string): void {
    if (this.isBeyond(id)) this.#sorted.push(id);
    else if (this.#gone?.delete(id) === true) this.#gone = this.#gone.size === 0 ? undefined : this.#gone;
    else if (!this.has(id)) (this.#late ??= new Set()).add(id);
  }

  delete(id: string): void {
    if (this.#late?.delete(id) === true) {
      if (this.#late.size === 0) this.#late = undefined;
      return;
    }
    const at = lowerBound(this.#sorted, id);
    if (this.#sorted[at] !== id) return;
    if (this.#gone === undefined && this.#sorted.length < NOTED_FROM) {
      this.#sorted.splice(at, 1);
      return;
    }
    const gone = (this.#gone ??= new Set()).add(id);
    if (2 * gone.size > this.#sorted.length) this.#dropGone(gone);
  }

  /** The ids in order. The array is the set's own: valid until the next change. */
  toArray(): readonly string[] {
    if (this.#gone !== undefined) this.#dropGone(this.#gone);
    const late = this.#late;
    if (late === undefined) return this.#sorted;
    this.#late = undefined;
    if (late.size > PLACED_ONE_BY_ONE_MAX) this.#sorted = [...this.#sorted, ...late].sort();
    else for (const id of late) this.#sorted.splice(lowerBound(this.#sorted, id), 0, id);
    return this.#sorted;
  }

  #dropGone(gone: ReadonlySet<string>): void {
    this.#gone = undefined;
    if (gone.size > PLACED_ONE_BY_ONE_MAX) this.#sorted = this.#sorted.filter((id) => !gone.has(id));
    else for (const id of gone) this.#sorted.splice(lowerBound(this.#sorted, id), 1);
  }
}

/** The position of the first element that is not below `id`. */
export function lowerBound(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
