// The ids under each key of an index. Most keys of most indexes have one id for ever, such as the items of an operation with
// one item: that one is kept as it is, and a set is made when a second one comes.
import { AscendingMap } from './ascending-map.ts';
import { SortedIds } from './sorted-ids.ts';

const NO_IDS: readonly string[] = [];

export class IdGroups {
  readonly #groups = new AscendingMap<string | SortedIds>();

  add(key: string, id: string): void {
    const group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, id);
    else if (typeof group !== 'string') group.add(id);
    else if (group !== id) {
      const ids = new SortedIds();
      ids.add(group);
      ids.add(id);
      this.#groups.set(key, ids);
    }
  }

  delete(key: string, id: string): void {
    const group = this.#groups.get(key);
    if (group === id) this.#groups.delete(key);
    else if (group instanceof SortedIds) {
      group.delete(id);
      if (group.size === 0) this.#groups.delete(key);
    }
  }

  size(key: string): number {
    const group = this.#groups.get(key);
    return group === undefined ? 0 : typeof group === 'string' ? 1 : group.size;
  }

  /** The ids under a key, in order; valid until the next change. */
  idsOf(key: string): readonly string[] {
    const group = this.#groups.get(key);
    return group === undefined ? NO_IDS : typeof group === 'string' ? [group] : group.toArray();
  }
}
