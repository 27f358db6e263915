// What was asked for lately, and not more of it than so many: whoever keeps coming stays known however many others come once. To
// forget all at once would do as well for memory, but those that come most often would be strangers then.

export class RecentCache<T> {
  readonly #max: number;
  #young = new Map<string, T>();
  /** What was there before the young ones came. Who is asked for again is young again. */
  #old = new Map<string, T>();

  /** Keeps the last `max`, and at most as many more. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): T | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: T): void {
    this.#old.delete(key);
    if (this.#young.size >= this.#max && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
