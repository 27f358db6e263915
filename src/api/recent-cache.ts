// A bounded cache of recently used entries (two generations): entries in regular use stay, however many others are used once. Clearing
// everything at once would bound memory as well, but would drop the entries in regular use.

export class RecentCache<T> {
  readonly #max: number;
  #young = new Map<string, T>();
  /** The older generation. An entry that is used again moves to the young one. */
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
