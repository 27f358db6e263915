// A fair queue over callers (round robin): a caller with a hundred requests does not delay one with a single request. Pure bookkeeping; it
// never runs anything.

export class FairQueue<T> {
  /** In the order of their turns: a caller whose item was taken goes to the end. */
  readonly #byCaller = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(caller: string): number {
    return this.#byCaller.get(caller)?.length ?? 0;
  }

  add(caller: string, item: T): void {
    const items = this.#byCaller.get(caller);
    if (items === undefined) this.#byCaller.set(caller, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** The next one of the first caller that may have one now. */
  take(mayTake: (caller: string, item: T) => boolean = () => true): T | undefined {
    for (const [caller, items] of this.#byCaller) {
      const [first] = items;
      if (first === undefined || !mayTake(caller, first)) continue;
      items.shift();
      this.#size -= 1;
      this.#byCaller.delete(caller);
      if (items.length > 0) this.#byCaller.set(caller, items);
      return first;
    }
    return undefined;
  }
}
