// The in-memory projection of the journal: documents and their indexes, at one revision. It shows only what is
// durable; what the decider has staged on top of it is in `Stage`.
import type { AnyDoc, Change, Id, Kind, Stored } from './document.ts';
import type { FleetReader } from './reader.ts';
import type { Applied, Index, Projected, Projection, Registry } from './registry.ts';
import { firstNotBelow, SortedIds } from './sorted-ids.ts';

interface Shelf {
  readonly documents: Map<string, Stored>;
  readonly ids: SortedIds;
  readonly indexes: readonly Index[];
  readonly projected: readonly Projected[];
}

const NO_IDS: readonly string[] = [];

export class Fleet implements FleetReader {
  readonly registry: Registry;
  #revision = 0;
  #shelves = new Map<string, Shelf>();
  #groups = new Map<string, Map<string, SortedIds>>();
  #projected = new Map<string, Projected>();

  constructor(registry: Registry) {
    this.registry = registry;
    this.reset();
  }

  get revision(): number {
    return this.#revision;
  }

  /** Forgets everything: before a rebuild from a snapshot. */
  reset(): void {
    this.#revision = 0;
    this.#groups = new Map(this.registry.indexes.map((index) => [index.name, new Map<string, SortedIds>()]));
    this.#projected = new Map(this.registry.projections.map((one) => [one.name, one.create()]));
    this.#shelves = new Map();
    for (const name of this.registry.kinds.keys()) {
      const projections = this.registry.projections.filter((one) => one.kinds.includes(name));
      this.#shelves.set(name, {
        documents: new Map(),
        ids: new SortedIds(),
        indexes: this.registry.indexes.filter((index) => index.kind.name === name),
        projected: projections.map((one) => this.#projected.get(one.name) as Projected),
      });
    }
  }

  /** Loads one document of a snapshot. */
  load(kind: string, stored: Stored): void {
    this.#replace(kind, stored.id, stored, true);
  }

  /** Ends a snapshot's loading, at its revision. */
  loaded(revision: number): void {
    this.#revision = revision;
  }

  /** Applies a durable commit that was decided elsewhere, or found in the journal. Revisions leave no gap. */
  apply(revision: number, changes: readonly Change[]): Applied[] {
    return this.#advance(revision, changes, true);
  }

  /** Applies a durable commit whose changes the stage has already shown to the projections. */
  absorb(revision: number, changes: readonly Change[]): Applied[] {
    return this.#advance(revision, changes, false);
  }

  #advance(revision: number, changes: readonly Change[], project: boolean): Applied[] {
    if (revision !== this.#revision + 1) {
      throw new Error(`commit ${revision} does not follow revision ${this.#revision}`);
    }
    this.#revision = revision;
    return changes.map((change) => {
      const after = change.doc === null ? undefined : { id: change.id as Id<string>, revision, doc: change.doc };
      return this.#replace(change.kind, change.id, after, project);
    });
  }

  #replace(kind: string, id: string, after: Stored | undefined, project: boolean): Applied {
    const shelf = this.#shelf(kind);
    const before = shelf.documents.get(id);
    for (const index of shelf.indexes) this.#reindex(index, id, before, after);
    if (after === undefined) {
      shelf.documents.delete(id);
      shelf.ids.delete(id);
    } else {
      shelf.documents.set(id, after);
      if (before === undefined) shelf.ids.add(id);
    }
    const applied: Applied = { kind, before, after };
    if (project) for (const projected of shelf.projected) projected.apply(applied);
    return applied;
  }

  #reindex(index: Index, id: string, before: Stored | undefined, after: Stored | undefined): void {
    const keysBefore = before === undefined ? NO_IDS : index.keysOf(before.doc, id);
    const keysAfter = after === undefined ? NO_IDS : index.keysOf(after.doc, id);
    for (const key of keysBefore) if (!keysAfter.includes(key)) this.#ungroup(index.name, key, id);
    for (const key of keysAfter) if (!keysBefore.includes(key)) this.#group(index.name, key, id);
  }

  #group(index: string, key: string, id: string): void {
    const groups = this.#groups.get(index) as Map<string, SortedIds>;
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = new SortedIds()));
    group.add(id);
  }

  #ungroup(index: string, key: string, id: string): void {
    const groups = this.#groups.get(index) as Map<string, SortedIds>;
    const group = groups.get(key);
    group?.delete(id);
    if (group?.size === 0) groups.delete(key);
  }

  get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined {
    return this.#shelf(kind.name).documents.get(id) as Stored<K, D> | undefined;
  }

  *all<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Iterable<Stored<K, D>> {
    const shelf = this.#shelf(kind.name);
    for (const id of [...shelf.ids.inOrder()]) yield shelf.documents.get(id) as Stored<K, D>;
  }

  /** Up to `limit` documents of a kind with ids above `after`, in id order: a page of a list, in O(log n + limit). */
  page<K extends string, D extends AnyDoc>(kind: Kind<K, D>, after: string, limit: number): Stored<K, D>[] {
    const shelf = this.#shelf(kind.name);
    const ids = shelf.ids.inOrder();
    let start = firstNotBelow(ids, after);
    if (ids[start] === after) start += 1;
    return ids.slice(start, start + limit).map((id) => shelf.documents.get(id) as Stored<K, D>);
  }

  count(kind: Kind<string, never>): number {
    return this.#shelf(kind.name).documents.size;
  }

  *find<K extends string, D extends AnyDoc>(index: Index<K, D>, key: string): Iterable<Stored<K, D>> {
    const documents = this.#shelf(index.kind.name).documents;
    for (const id of [...this.idsUnder(index.name, key)]) yield documents.get(id) as Stored<K, D>;
  }

  countOf(index: Index<string, never>, key: string): number {
    return this.#groups.get(index.name)?.get(key)?.size ?? 0;
  }

  /** The ids under an index key, in order; valid until the next change. */
  idsUnder(index: string, key: string): readonly string[] {
    return this.#groups.get(index)?.get(key)?.inOrder() ?? NO_IDS;
  }

  projection<P extends Projected>(projection: Projection<P>): P {
    const found = this.#projected.get(projection.name);
    if (found === undefined) throw new Error(`projection "${projection.name}" is not registered`);
    return found as P;
  }

  /** The projections that follow a kind: the stage applies to them what it stages. */
  projectedFor(kind: string): readonly Projected[] {
    return this.#shelf(kind).projected;
  }

  #shelf(kind: string): Shelf {
    const shelf = this.#shelves.get(kind);
    if (shelf === undefined) throw new Error(`kind "${kind}" is not registered`);
    return shelf;
  }
}
