// Counts by name.

export class Tally {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  count(name: string, times = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + times);
    this.#total += times;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Sorted by name. */
  entries(): [name: string, count: number][] {
    return [...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1));
  }
}
