// The fleet plus changes that are not durable. The decider's stage is one: a group on top of the durable fleet. A trial is
// another, on top of a stage: a decision that builds on its own first steps tries them out there and takes them back.
import type { AnyDoc, Change, Id, Kind, Stored } from './document.ts';
import type { Fleet } from './fleet.ts';
import type { FleetReader } from './reader.ts';
import type { Applied, Index, Projected, Projection } from './registry.ts';

/** What can be staged upon. */
interface Ground extends FleetReader {
  projectedFor(kind: string): readonly Projected[];
}

class Overlay implements Ground {
  readonly #ground: Ground;
  readonly #staged = new Map<string, Map<string, Stored | undefined>>();
  readonly #projected: Applied[] = [];
  protected readonly commits: (readonly Change[])[] = [];

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  get revision(): number {
    return this.#ground.revision + this.commits.length;
  }

  /** Stages one commit. Later decisions of the group see it. */
  add(changes: readonly Change[]): void {
    this.commits.push(changes);
    for (const change of changes) {
      const before = this.#lookUp(change.kind, change.id);
      const after =
        change.doc === null ? undefined : { id: change.id as Id<string>, revision: this.revision, doc: change.doc };
      let staged = this.#staged.get(change.kind);
      if (staged === undefined) this.#staged.set(change.kind, (staged = new Map<string, Stored | undefined>()));
      staged.set(change.id, after);
      this.#project({ kind: change.kind, before, after });
    }
  }

  #project(applied: Applied): void {
    const projected = this.#ground.projectedFor(applied.kind);
    if (projected.length === 0) return;
    this.#projected.push(applied);
    for (const one of projected) one.apply(applied);
  }

  /** Takes everything back. */
  drop(): void {
    for (const { kind, before, after } of this.#projected.reverse()) {
      for (const one of this.#ground.projectedFor(kind)) one.apply({ kind, before: after, after: before });
    }
    this.#projected.length = 0;
    this.commits.length = 0;
    this.#staged.clear();
  }

  /** The revision a document has in this view; undefined when it is absent. */
  revisionOf(kind: string, id: string): number | undefined {
    return this.#lookUp(kind, id)?.revision;
  }

  #lookUp(kind: string, id: string): Stored | undefined {
    const staged = this.#staged.get(kind);
    if (staged?.has(id) === true) return staged.get(id);
    return this.#ground.get({ name: kind } as Kind, id as Id<string>);
  }

  get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined {
    return this.#lookUp(kind.name, id) as Stored<K, D> | undefined;
  }

  all<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Iterable<Stored<K, D>> {
    const staged = this.#staged.get(kind.name);
    if (staged === undefined) return this.#ground.all(kind);
    const kept = [...this.#ground.all(kind)].filter((stored) => !staged.has(stored.id));
    return inIdOrder([...kept, ...(present(staged) as Stored<K, D>[])]);
  }

  count(kind: Kind<string, never>): number {
    let count = this.#ground.count(kind);
    for (const [id, after] of this.#staged.get(kind.name) ?? []) {
      const before = this.#ground.get(kind, id as Id<string>);
      count += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    }
    return count;
  }

  find<K extends string, D extends AnyDoc>(index: Index<K, D>, key: string): Iterable<Stored<K, D>> {
    const staged = this.#staged.get(index.kind.name);
    if (staged === undefined) return this.#ground.find(index, key);
    const kept = [...this.#ground.find(index, key)].filter((stored) => !staged.has(stored.id));
    const added = (present(staged) as Stored<K, D>[]).filter((one) => index.keysOf(one.doc, one.id).includes(key));
    return inIdOrder([...kept, ...added]);
  }

  countOf(index: Index<string, never>, key: string): number {
    let count = this.#ground.countOf(index, key);
    const keysOf = (stored: Stored | undefined): readonly string[] =>
      stored === undefined ? [] : (index as unknown as Index).keysOf(stored.doc, stored.id);
    for (const [id, after] of this.#staged.get(index.kind.name) ?? []) {
      const before = this.#ground.get(index.kind, id as Id<string>) as Stored | undefined;
      count += (keysOf(after).includes(key) ? 1 : 0) - (keysOf(before).includes(key) ? 1 : 0);
    }
    return count;
  }

  projection<P extends Projected>(projection: Projection<P>): P {
    return this.#ground.projection(projection);
  }

  projectedFor(kind: string): readonly Projected[] {
    return this.#ground.projectedFor(kind);
  }
}

/**
 * The decider's view: the durable fleet plus the changes of a group that is not durable yet. Dropping a stage leaves no
 * trace; keeping it advances the fleet commit by commit.
 */
export class Stage extends Overlay {
  readonly #fleet: Fleet;

  constructor(fleet: Fleet) {
    super(fleet);
    this.#fleet = fleet;
  }

  /** The group is durable: the fleet takes over what was staged, one commit after the other. */
  keep(): Applied[][] {
    return this.commits.map((changes) => this.#fleet.absorb(this.#fleet.revision + 1, changes));
  }
}

/** What a decision has made so far, as later parts of the same decision see it. */
export interface Trial extends FleetReader {
  add(changes: readonly Change[]): void;
}

/**
 * Runs a decision that builds on its own first steps: what it adds to the trial is seen by everything after it, in
 * documents, indexes and projections, and is taken back at the end. The answer carries what is to stay.
 */
export function onTrial<T>(fleet: FleetReader, decide: (trial: Trial) => T): T {
  const overlay = new Overlay(fleet as Ground);
  try {
    return decide(overlay);
  } finally {
    overlay.drop();
  }
}

function present(staged: ReadonlyMap<string, Stored | undefined>): Stored[] {
  return [...staged.values()].filter((stored) => stored !== undefined);
}

function inIdOrder<S extends Stored>(documents: S[]): S[] {
  return documents.sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
}
