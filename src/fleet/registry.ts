// What modules register with the fleet: kinds, indexes, projections, invariants. A registry is made once, in
// `main/` or `sim/`, from the modules' models.
import type { AnyDoc, Kind, Stored } from './document.ts';
import type { Migration } from './migration.ts';
import type { FleetReader } from './reader.ts';

/** Finds documents of one kind by a key derived from them. A document may have several keys or none. */
export interface Index<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly name: string;
  readonly kind: Kind<K, D>;
  readonly keysOf: (doc: D, id: string) => readonly string[];
}

/** The input of a projection: a document before and after a change. Either side may be absent. */
export interface AppliedChange {
  readonly kind: string;
  readonly before: Stored | undefined;
  readonly after: Stored | undefined;
}

/**
 * A structure of a module's own that follows the documents (counters, typed arrays, bitsets). It must be a function of
 * the documents alone: applying the inverse of a change undoes it. The decider applies staged changes to it and
 * takes them back when a group fails.
 */
export interface ProjectionState {
  apply(change: AppliedChange): void;
}

/** One that plans can be made on for longer than a turn of the event loop, while the original follows the fleet. */
export interface Forkable extends ProjectionState {
  /** A copy of its own, as it is now. It may share what no plan changes. */
  fork(): Forkable;
  /** Of a fork: what it shares is another now, so that a plan on it means nothing. */
  readonly isOutdated?: boolean;
}

export interface Projection<P extends ProjectionState = ProjectionState> {
  readonly name: string;
  readonly kinds: readonly string[];
  readonly create: () => P;
  /** Set on what is only shown and nothing is decided on: it follows a change once that is durable, and the stage shows it no other. */
  readonly follows?: 'durable';
}

/** Something that must never be untrue. Checked after every commit in tests and in the simulation. */
export interface Invariant {
  readonly name: string;
  /** Sentences that say what is broken; none when all is well. `changed` narrows the check for costly ones. */
  readonly check: (changed: readonly AppliedChange[], fleet: FleetReader) => readonly string[];
}

/** What one module brings to the fleet. */
export interface Model {
  readonly kinds: readonly Kind<string, never>[];
  readonly indexes?: readonly Index<string, never>[];
  readonly projections?: readonly Projection[];
  readonly invariants?: readonly Invariant[];
  /** What brings documents of earlier versions to their present form; those of one kind follow each other. */
  readonly migrations?: readonly Migration[];
}

export class Registry {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly indexes: readonly Index[];
  readonly projections: readonly Projection[];
  readonly invariants: readonly Invariant[];
  readonly #migrations: ReadonlyMap<string, readonly Migration[]>;

  constructor(models: readonly Model[]) {
    // The models speak of their own document types; from here on every document is checked by its kind first.
    this.kinds = uniqueByName(models.flatMap((model) => model.kinds) as unknown as Kind[]);
    this.indexes = [...uniqueByName(models.flatMap((model) => model.indexes ?? []) as unknown as Index[]).values()];
    this.projections = [...uniqueByName(models.flatMap((model) => model.projections ?? [])).values()];
    this.invariants = [...uniqueByName(models.flatMap((model) => model.invariants ?? [])).values()];
    const migrations = models.flatMap((model) => model.migrations ?? []);
    this.#migrations = Map.groupBy(migrations, ({ kind }) => kind);
  }

  /** A document as this version has it, of one that any version wrote; the same object when it is one of this version. */
  migrate(kind: string, id: string, doc: AnyDoc): AnyDoc {
    const migrations = this.#migrations.get(kind);
    return migrations === undefined ? doc : migrations.reduce((migrated, { migrate }) => migrate(migrated, id), doc);
  }
}

function uniqueByName<T extends { readonly name: string }>(things: readonly T[]): Map<string, T> {
  const byName = new Map<string, T>();
  for (const thing of things) {
    if (byName.has(thing.name)) throw new Error(`two modules register "${thing.name}"`);
    byName.set(thing.name, thing);
  }
  return byName;
}
