// A map by texts that mostly come in ascending order, as ids do. It is kept in parts, each for a range of keys: what is new
// goes to the last part, which is small and was written to just now. In one large map each new key would touch memory that
// is not in the cache, and now and then one insertion would wait for a rehash of the whole table.
import { lowerBound } from './sorted-ids.ts';

/** From here on a part takes only keys that come late. The table of so many lies well within a page of the heap. */
export const PART_KEYS = 2048;

export class AscendingMap<V> {
  readonly #parts: Map<string, V>[];
  /** By part, in order: no key in it is lower, but for those of the first part. */
  readonly #starts: string[] = [''];
  /** The last of the parts, and where it starts. */
  #newest = new Map<string, V>();
  #newestStart = '';
  /** No key was ever higher. */
  #highest = '';
  #size = 0;

  constructor() {
    this.#parts = [this.#newest];
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    // Most maps are small: then a lookup is cheaper than the comparison.
    if (this.#parts.length === 1) return this.#newest.get(key);
    return key > this.#highest ? undefined : this.#partOf(key).get(key);
  }

  has(key: string): boolean {
    return key <= this.#highest && this.#partOf(key).has(key);
  }

  set(key: string, value: V): void {
    if (key > this.#highest) {
      this.#highest = key;
      if (this.#newest.size >= PART_KEYS) this.#begin(key);
      this.#newest.set(key, value);
      this.#size += 1;
      return;
    }
    const part = this.#partOf(key);
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  delete(key: string): void {
    const part = this.#partOf(key);
    if (!part.delete(key)) return;
    this.#size -= 1;
    if (part.size > 0 || part === this.#newest) return;
    const at = this.#parts.indexOf(part);
    this.#parts.splice(at, 1);
    this.#starts.splice(at, 1);
  }

  #begin(start: string): void {
    this.#newest = new Map();
    this.#newestStart = start;
    this.#parts.push(this.#newest);
    this.#starts.push(start);
  }

  #partOf(key: string): Map<string, V> {
    if (key >= this.#newestStart) return this.#newest;
    const at = lowerBound(this.#starts, key);
    // What is below all starts belongs to the first part: a part that ran empty may have been before it.
    return this.#parts[this.#starts[at] === key ? at : Math.max(0, at - 1)] as Map<string, V>;
  }
}
