// The in-memory projection of the journal: documents and their indexes, at one revision. It shows only what is
// durable; what the decider has staged on top of it is in `Stage`.
import { AscendingMap } from './ascending-map.ts';
import type { AnyDoc, Change, Id, Kind, Stored } from './document.ts';
import { IdGroups } from './id-groups.ts';
import type { FleetReader } from './reader.ts';
import { RecentCommits, type CommitChanges } from './recent-commits.ts';
import type { AppliedChange, Index, ProjectionState, Projection, Registry } from './registry.ts';
import { lowerBound, SortedIds } from './sorted-ids.ts';

interface KindTable {
  readonly documents: AscendingMap<Stored>;
  readonly ids: SortedIds;
  readonly indexes: readonly { readonly index: Index; readonly groups: IdGroups }[];
  /** Those that follow what is staged. */
  readonly projections: readonly ProjectionState[];
  readonly durableProjections: readonly ProjectionState[];
}

const NO_KEYS: readonly string[] = [];

export class Fleet implements FleetReader {
  readonly registry: Registry;
  #revision = 0;
  #groups: Map<string, IdGroups>;
  #projections: Map<string, ProjectionState>;
  #tables: Map<string, KindTable>;
  #recent = new RecentCommits();

  constructor(registry: Registry) {
    this.registry = registry;
    this.#groups = new Map(registry.indexes.map((index) => [index.name, new IdGroups()]));
    this.#projections = new Map(registry.projections.map((one) => [one.name, one.create()]));
    this.#tables = new Map([...registry.kinds.keys()].map((name) => [name, this.#newTable(name)]));
  }

  #newTable(kind: string): KindTable {
    const projections = this.registry.projections.filter((one) => one.kinds.includes(kind));
    const stateOf = ({ name }: Projection): ProjectionState => this.#projections.get(name) as ProjectionState;
    return {
      documents: new AscendingMap(),
      ids: new SortedIds(),
      indexes: this.registry.indexes
        .filter((index) => index.kind.name === kind)
        .map((index) => ({ index, groups: this.#groups.get(index.name) as IdGroups })),
      projections: projections.filter((one) => one.follows === undefined).map(stateOf),
      durableProjections: projections.filter((one) => one.follows === 'durable').map(stateOf),
    };
  }

  get revision(): number {
    return this.#revision;
  }

  /**
   * Shows what another fleet of the same registry shows, which is not used any more. A snapshot is loaded into a fleet of its own and taken
   * over whole: a reader never sees half of one, however long the loading takes.
   */
  replaceWith(loaded: Fleet): void {
    this.#revision = loaded.#revision;
    this.#groups = loaded.#groups;
    this.#projections = loaded.#projections;
    this.#tables = loaded.#tables;
    this.#recent = loaded.#recent;
  }

  /** Loads one document of a snapshot. */
  load(kind: string, stored: Stored): void {
    const shelf = this.#table(kind);
    this.#replace(shelf, { kind, before: shelf.documents.get(stored.id), after: stored });
  }

  /** Ends a snapshot's loading, at its revision. */
  finishLoad(revision: number): void {
    this.#revision = revision;
  }

  /** Applies a durable commit that was decided elsewhere, or found in the journal. Revisions leave no gap. */
  apply(revision: number, changes: readonly Change[]): AppliedChange[] {
    this.#advance(revision);
    const commit = changes.map(({ kind, id, doc }) => {
      const shelf = this.#table(kind);
      const after = doc === null ? undefined : { id: id as Id<string>, revision, doc };
      const applied: AppliedChange = { kind, before: shelf.documents.get(id), after };
      this.#replace(shelf, applied);
      return applied;
    });
    this.#recent.add(commit);
    return commit;
  }

  recentCommits(): Iterable<CommitChanges> {
    return this.#recent.newestFirst();
  }

  /** Takes over a durable commit from the stage on top of this fleet, which has shown it to the projections that follow it already. */
  applyStaged(revision: number, applied: readonly AppliedChange[]): void {
    this.#advance(revision);
    for (const one of applied) {
      const table = this.#table(one.kind);
      this.#store(table, one);
      for (const projected of table.durableProjections) projected.apply(one);
    }
    this.#recent.add(applied);
  }

  #advance(revision: number): void {
    if (revision !== this.#revision + 1) {
      throw new Error(`commit ${revision} does not follow revision ${this.#revision}`);
    }
    this.#revision = revision;
  }

  #replace(shelf: KindTable, applied: AppliedChange): void {
    this.#store(shelf, applied);
    for (const projected of shelf.projections) projected.apply(applied);
    for (const projected of shelf.durableProjections) projected.apply(applied);
  }

  #store({ documents, ids, indexes }: KindTable, { before, after }: AppliedChange): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return; // what was not there is deleted
    if (before === undefined) {
      // Most are new. There is nothing to compare with then.
      for (let nth = 0; nth < indexes.length; nth += 1) {
        const { index, groups } = indexes[nth] as KindTable['indexes'][number];
        const keys = index.keysOf((after as Stored).doc, id);
        for (let at = 0; at < keys.length; at += 1) groups.add(keys[at] as string, id);
      }
      documents.set(id, after as Stored);
      ids.add(id);
      return;
    }
    for (let nth = 0; nth < indexes.length; nth += 1) {
      const { index, groups } = indexes[nth] as KindTable['indexes'][number];
      const keysBefore = index.keysOf(before.doc, id);
      const keysAfter = after === undefined ? NO_KEYS : index.keysOf(after.doc, id);
      for (const key of keysBefore) if (!keysAfter.includes(key)) groups.delete(key, id);
      for (const key of keysAfter) if (!keysBefore.includes(key)) groups.add(key, id);
    }
    if (after === undefined) {
      documents.delete(id);
      ids.delete(id);
    } else documents.set(id, after);
  }

  get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined {
    return this.#table(kind.name).documents.get(id) as Stored<K, D> | undefined;
  }

  *all<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Iterable<Stored<K, D>> {
    const shelf = this.#table(kind.name);
    for (const id of [...shelf.ids.toArray()]) yield shelf.documents.get(id) as Stored<K, D>;
  }

  /** Up to `limit` documents of a kind with ids above `after`, in id order: a page of a list, in O(log n + limit). */
  page<K extends string, D extends AnyDoc>(kind: Kind<K, D>, after: string, limit: number): Stored<K, D>[] {
    const shelf = this.#table(kind.name);
    const ids = shelf.ids.toArray();
    let start = lowerBound(ids, after);
    if (ids[start] === after) start += 1;
    return ids.slice(start, start + limit).map((id) => shelf.documents.get(id) as Stored<K, D>);
  }

  count(kind: Kind<string, never>): number {
    return this.#table(kind.name).documents.size;
  }

  *find<K extends string, D extends AnyDoc>(index: Index<K, D>, key: string): Iterable<Stored<K, D>> {
    const documents = this.#table(index.kind.name).documents;
    for (const id of [...this.lookupIds(index.name, key)]) yield documents.get(id) as Stored<K, D>;
  }

  countOf(index: Index<string, never>, key: string): number {
    return this.#groups.get(index.name)?.size(key) ?? 0;
  }

  /** The ids under an index key, in order; valid until the next change. */
  lookupIds(index: string, key: string): readonly string[] {
    return this.#groups.get(index)?.idsOf(key) ?? NO_KEYS;
  }

  projection<P extends ProjectionState>(projection: Projection<P>): P {
    const found = this.#projections.get(projection.name);
    if (found === undefined) throw new Error(`projection "${projection.name}" is not registered`);
    return found as P;
  }

  /** The projections that follow what is staged of a kind: the stage applies it to them. */
  projectionsOf(kind: string): readonly ProjectionState[] {
    return this.#table(kind).projections;
  }

  #table(kind: string): KindTable {
    const shelf = this.#tables.get(kind);
    if (shelf === undefined) throw new Error(`kind "${kind}" is not registered`);
    return shelf;
  }
}
