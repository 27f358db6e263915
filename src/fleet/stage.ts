// The fleet plus changes that are not durable. The decider's stage is one: a group on top of the durable fleet, or on top of
// the group that is being written. A trial is another, on top of a stage: a decision that builds on its own first steps
// tries them out there and takes them back.
import type { AnyDoc, Change, Id, Kind, Stored } from './document.ts';
import type { Fleet } from './fleet.ts';
import type { FleetReader } from './reader.ts';
import type { CommitChanges } from './recent-commits.ts';
import type { AppliedChange, Index, ProjectionState, Projection } from './registry.ts';
import { StagedKeys } from './staged-keys.ts';

/** What can be staged upon. */
export interface StageBase extends FleetReader {
  projectionsOf(kind: string): readonly ProjectionState[];
  /** What was committed and staged, the newest first, as far back as it is known. */
  recentCommits(): Iterable<CommitChanges>;
}

/** A tombstone: marks a staged deletion, as opposed to a document that is not staged. */
const DELETED: unique symbol = Symbol('gone');

/** What is staged of one kind. */
interface StagedKind {
  readonly documents: Map<string, Stored | typeof DELETED>;
  /** By the indexes that were used. */
  readonly keys: Map<string, StagedKeys>;
  /** How many documents more there are than in the ground. */
  countDelta: number;
}

export class Overlay implements StageBase {
  protected base: StageBase;
  readonly #staged = new Map<string, StagedKind>();
  protected readonly commits: (readonly AppliedChange[])[] = [];

  constructor(ground: StageBase) {
    this.base = ground;
  }

  get revision(): number {
    return this.base.revision + this.commits.length;
  }

  /** Stages one commit. Later decisions of the group see it. Answers what it changed. */
  add(changes: readonly Change[]): readonly AppliedChange[] {
    const commit: AppliedChange[] = [];
    this.commits.push(commit);
    const { revision } = this;
    for (const { kind, id, doc } of changes) {
      const after = doc === null ? undefined : { id: id as Id<string>, revision, doc };
      const applied: AppliedChange = { kind, before: this.#replace(kind, id, after), after };
      commit.push(applied);
      for (const one of this.projectionsOf(kind)) one.apply(applied);
    }
    return commit;
  }

  /** Answers how the document was. */
  #replace(kind: string, id: string, after: Stored | undefined): Stored | undefined {
    let shelf = this.#staged.get(kind);
    if (shelf === undefined) this.#staged.set(kind, (shelf = { documents: new Map(), keys: new Map(), countDelta: 0 }));
    const staged = shelf.documents.get(id);
    const isStaged = staged !== undefined;
    const before = isStaged ? presentOrUndefined(staged) : this.#baseDocument(kind, id);
    shelf.documents.set(id, after ?? DELETED);
    shelf.countDelta += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    if (shelf.keys.size === 0) return before;
    for (const keys of shelf.keys.values()) {
      if (before !== undefined) {
        if (isStaged) keys.forget(before);
        else keys.hide(before);
      }
      if (after !== undefined) keys.add(after);
    }
    return before;
  }

  /** Takes everything back. */
  rollback(): void {
    for (const commit of this.commits.reverse()) {
      for (const { kind, before, after } of commit.toReversed()) {
        for (const one of this.projectionsOf(kind)) one.apply({ kind, before: after, after: before });
      }
    }
    this.commits.length = 0;
    this.#staged.clear();
  }

  #baseDocument(kind: string, id: string): Stored | undefined {
    return this.base.get({ name: kind } as Kind, id as Id<string>);
  }

  get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined {
    const staged = this.#staged.get(kind.name)?.documents.get(id);
    return staged === undefined ? this.base.get(kind, id) : (presentOrUndefined(staged) as Stored<K, D> | undefined);
  }

  all<K extends string, D extends AnyDoc>(kind: Kind<K, D>): Iterable<Stored<K, D>> {
    const staged = this.#staged.get(kind.name)?.documents;
    if (staged === undefined) return this.base.all(kind);
    const kept = [...this.base.all(kind)].filter((stored) => !staged.has(stored.id));
    const added = [...staged.values()].filter((stored) => stored !== DELETED);
    return sortById([...kept, ...(added as Stored<K, D>[])]);
  }

  count(kind: Kind<string, never>): number {
    return this.base.count(kind) + (this.#staged.get(kind.name)?.countDelta ?? 0);
  }

  find<K extends string, D extends AnyDoc>(index: Index<K, D>, key: string): Iterable<Stored<K, D>> {
    const shelf = this.#staged.get(index.kind.name);
    const found = this.base.find(index, key);
    if (shelf === undefined) return found;
    const { documents } = shelf;
    const keys = this.#keysOf(shelf, index as unknown as Index);
    const [ids, hidden] = [keys.lookupIds(key), keys.countHidden(key)];
    if (ids.size === 0 && hidden === 0) return found;
    const kept = hidden === 0 ? found : [...found].filter((stored) => !documents.has(stored.id));
    return sortById([...kept, ...Array.from(ids, (id) => documents.get(id) as Stored<K, D>)]);
  }

  countOf(index: Index<string, never>, key: string): number {
    const count = this.base.countOf(index, key);
    const shelf = this.#staged.get(index.kind.name);
    if (shelf === undefined) return count;
    const keys = this.#keysOf(shelf, index as unknown as Index);
    return count - keys.countHidden(key) + keys.lookupIds(key).size;
  }

  /** What is staged, by the keys of an index: worked out once for all that is staged, then kept up. */
  #keysOf({ documents, keys }: StagedKind, index: Index): StagedKeys {
    const found = keys.get(index.name);
    if (found !== undefined) return found;
    const made = new StagedKeys(index);
    keys.set(index.name, made);
    for (const [id, after] of documents) {
      const below = this.#baseDocument(index.kind.name, id);
      if (below !== undefined) made.hide(below);
      if (after !== DELETED) made.add(after);
    }
    return made;
  }

  *recentCommits(): Iterable<CommitChanges> {
    for (let at = this.commits.length - 1; at >= 0; at -= 1) yield this.commits[at] as CommitChanges;
    yield* this.base.recentCommits();
  }

  projection<P extends ProjectionState>(projection: Projection<P>): P {
    return this.base.projection(projection);
  }

  projectionsOf(kind: string): readonly ProjectionState[] {
    return this.base.projectionsOf(kind);
  }
}

/**
 * The decider's view: the durable fleet plus the changes of a group that is not durable yet. Dropping a stage leaves no
 * trace; keeping it advances the fleet commit by commit. A second stage may lie on top of the first: it falls with it, and
 * lies on the fleet once the first is kept.
 */
export class Stage extends Overlay {
  readonly #fleet: Fleet;
  #upper: Stage | undefined;

  /** On a stage only when all of its group is decided: what is added below later would not be seen. */
  constructor(ground: Fleet | Stage) {
    super(ground);
    this.#fleet = ground instanceof Stage ? ground.#fleet : ground;
    if (ground instanceof Stage) ground.#attachUpper(this);
  }

  #attachUpper(above: Stage): void {
    this.#upper = above;
  }

  /** The group is durable: the fleet takes over what was staged, one commit after the other. */
  promote(): readonly (readonly AppliedChange[])[] {
    if (this.base !== this.#fleet) throw new Error('the stage below is not kept');
    for (const commit of this.commits) this.#fleet.applyStaged(this.#fleet.revision + 1, commit);
    // The fleet shows now what this stage showed, so nothing changes for the stage above.
    if (this.#upper !== undefined) this.#upper.base = this.#fleet;
    return this.commits;
  }

  /** A stage on top of this one was decided on it: it is dropped first, since projections undo the newest change first. */
  override rollback(): void {
    this.#upper?.rollback();
    super.rollback();
  }
}

/** What a decision has made so far, as later parts of the same decision see it. */
export interface Trial extends FleetReader {
  add(changes: readonly Change[]): readonly AppliedChange[];
}

/**
 * Runs a decision that builds on its own first steps: what it adds to the trial is seen by everything after it, in
 * documents, indexes and projections, and is taken back at the end. The answer carries what is to stay.
 */
export function runTrial<T>(fleet: FleetReader, decide: (trial: Trial) => T): T {
  const overlay = new Overlay(fleet as StageBase);
  try {
    return decide(overlay);
  } finally {
    overlay.rollback();
  }
}

function presentOrUndefined(staged: Stored | typeof DELETED): Stored | undefined {
  return staged === DELETED ? undefined : staged;
}

function sortById<S extends Stored>(documents: S[]): S[] {
  return documents.sort((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
}
