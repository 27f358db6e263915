// What is staged, by the keys of one index: so that looking for a key costs what is under it, and not what is staged. Made
// when the index is first used, and kept up to date from then on.
import type { Stored } from './document.ts';
import type { Index } from './registry.ts';

const NO_IDS: ReadonlySet<string> = new Set();

export class StagedKeys {
  readonly #index: Index;
  readonly #added = new Map<string, Set<string>>();
  readonly #hidden = new Map<string, number>();

  constructor(index: Index) {
    this.#index = index;
  }

  /** The staged documents under a key, in the order in which they came. */
  lookupIds(key: string): ReadonlySet<string> {
    return this.#added.get(key) ?? NO_IDS;
  }

  /** How many documents of the ground are under a key that are staged, as they are there or otherwise. */
  countHidden(key: string): number {
    return this.#hidden.get(key) ?? 0;
  }

  /** A document of the ground is staged for the first time. */
  hide({ id, doc }: Stored): void {
    // A document that names a key twice is under it once.
    for (const key of new Set(this.#index.keysOf(doc, id))) this.#hidden.set(key, this.countHidden(key) + 1);
  }

  add({ id, doc }: Stored): void {
    for (const key of this.#index.keysOf(doc, id)) {
      const ids = this.#added.get(key);
      if (ids === undefined) this.#added.set(key, new Set([id]));
      else ids.add(id);
    }
  }

  /** A staged document is staged otherwise. */
  forget({ id, doc }: Stored): void {
    for (const key of this.#index.keysOf(doc, id)) this.#added.get(key)?.delete(id);
  }
}
