// A set of ids that can be walked in id order. The order is built on the first walk and kept from then on,
// so that a cold start of 10^5 documents pays for it once and a set that nobody walks never does.

export class SortedIds {
  readonly #members = new Set<string>();
  #sorted: string[] | undefined;

  get size(): number {
    return this.#members.size;
  }

  has(id: string): boolean {
    return this.#members.has(id);
  }

  add(id: string): void {
    if (this.#members.has(id)) return;
    this.#members.add(id);
    if (this.#sorted !== undefined) this.#sorted.splice(firstNotBelow(this.#sorted, id), 0, id);
  }

  delete(id: string): void {
    if (!this.#members.delete(id)) return;
    if (this.#sorted !== undefined) this.#sorted.splice(firstNotBelow(this.#sorted, id), 1);
  }

  /** The ids in order. The array is the set's own: valid until the next change. */
  inOrder(): readonly string[] {
    this.#sorted ??= [...this.#members].sort();
    return this.#sorted;
  }
}

/** The position of the first element that is not below `id`. */
export function firstNotBelow(sorted: readonly string[], id: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
