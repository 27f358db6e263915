// Commits as a caller may see them: kinds and sites that are not the caller's are left out, and what must stay inside is
// never in it. A commit of which nothing is left is not shown at all.
import {
  isBound,
  permits,
  canSeeProject,
  canSeeSite,
  type Caller,
  type Projects,
  type Redactor,
  type Representation,
} from '../access/index.ts';
import type { Composition } from '../composition/index.ts';
import type { AnyDoc, Change, FleetReader } from '../fleet/index.ts';
import type { Commit, CommitNote, Journal } from '../journal/index.ts';
import { OPERATION } from '../operations/index.ts';

type AnyRepresentation = Representation;

export interface Audience {
  /** For what a document alone does not say, such as the site of an operation's item. */
  readonly fleet: FleetReader;
  readonly caller: Caller;
  /** Redacts what the caller may not see; undefined for one that sees everything. */
  readonly sight: Redactor | undefined;
  /** Undefined for every kind. */
  readonly kinds?: ReadonlySet<string> | undefined;
}

interface ChangeJson {
  readonly kind: string;
  readonly id: string;
  readonly doc: object | null;
}

/** Whose a document is. */
interface DocumentScope {
  readonly site: string | undefined;
  readonly project: Projects;
}

export class ChangeRepresentations {
  readonly #scopes: Pick<Composition, 'scopeOf'>;
  readonly #representations: ReadonlyMap<string, AnyRepresentation>;
  /** A change is the same for all callers that may see it: rendered once. */
  readonly #texts = new WeakMap<Change, string>();
  /** Whose a deleted document was, for as long as its commit is in memory. */
  readonly #deletedOf = new WeakMap<Change, DocumentScope>();

  constructor(representations: readonly Representation<string, never>[], scopes: Pick<Composition, 'scopeOf'>) {
    this.#scopes = scopes;
    this.#representations = new Map(representations.map((one) => [one.kind.name, one as unknown as AnyRepresentation]));
  }

  get kinds(): string[] {
    return [...this.#representations.keys()];
  }

  find(kind: string): AnyRepresentation | undefined {
    return this.#representations.get(kind);
  }

  /** Remembers whose deleted documents were, from now on. */
  follow(journal: Journal): () => void {
    return journal.onCommit(({ commit, applied }) => {
      for (const [at, { before }] of applied.entries()) {
        const change = commit.changes[at];
        if (change === undefined || change.doc !== null || before === undefined) continue;
        const representation = this.#representations.get(change.kind);
        if (representation !== undefined)
          this.#deletedOf.set(change, this.#ownershipOf(representation, before.doc, journal.fleet));
      }
    });
  }

  /** The changes of a commit that this audience may see. */
  filterVisibleChanges(commit: Commit, audience: Audience): Change[] {
    return commit.changes.filter((change) => this.#isVisible(change, audience));
  }

  /** Whether this audience may see anything of a kind at all: known without its documents. */
  isKindVisible(kind: string, { caller, kinds }: Audience): boolean {
    if (kinds !== undefined && !kinds.has(kind)) return false;
    const representation = this.#representations.get(kind);
    return representation !== undefined && permits(caller, representation.access);
  }

  #isVisible(change: Change, audience: Audience): boolean {
    const representation = this.#representations.get(change.kind);
    if (representation === undefined || !this.isKindVisible(change.kind, audience)) return false;
    const { fleet, caller } = audience;
    if (!isBound(caller)) return true;
    const { doc } = change;
    const of = doc === null ? this.#deletedOf.get(change) : this.#ownershipOf(representation, doc, fleet);
    return canSeeSite(caller, of?.site) && canSeeProject(caller, of?.project);
  }

  #ownershipOf({ kind }: AnyRepresentation, doc: AnyDoc, fleet: FleetReader): DocumentScope {
    const { siteOf, projectOf } = this.#scopes.scopeOf(kind);
    return { site: siteOf(doc, fleet), project: projectOf(doc, fleet) };
  }

  /** `{"kind","id","doc"}`; `doc` is null for a deletion. */
  #text(change: Change, sight: Redactor | undefined): string {
    if (sight !== undefined) return JSON.stringify(this.toJson(change, sight));
    let text = this.#texts.get(change);
    if (text === undefined) {
      text = JSON.stringify(this.toJson(change, undefined));
      this.#texts.set(change, text);
    }
    return text;
  }

  toJson({ kind, id, doc }: Change, sight: Redactor | undefined): ChangeJson {
    return { kind, id, doc: doc === null ? null : (this.#representations.get(kind)?.toJson(doc, sight) ?? null) };
  }

  /** The commit as JSON text, piece by piece: it may be of any size. Nothing when nothing of it is for this audience. */
  *commitPieces(commit: Commit, audience: Audience): Generator<string, void> {
    const { sight } = audience;
    let separator = `${JSON.stringify(commitMetadata(commit, sight)).slice(0, -1)},"changes":[`;
    let isShown = false;
    for (const change of commit.changes) {
      if (!this.#isVisible(change, audience)) continue;
      yield separator + this.#text(change, sight);
      separator = ',';
      isShown = true;
    }
    if (isShown) yield ']}';
  }
}

/** A caller of one site sees the reason text only of work that it may see: the text of others may name anything. */
export function commitMetadata(
  commit: CommitNote & { readonly revision: number },
  sight: Redactor | undefined,
): object {
  const { revision, atMs, by, why, operation } = commit;
  const isInformed = sight === undefined || operation === undefined || sight.canSee(OPERATION.name, operation);
  return {
    revision,
    atMs,
    by: sight?.redactAuthor(by) ?? by,
    ...(why !== undefined && isInformed && { why: sight?.redactTextBy(why, by) ?? why }),
    ...(operation !== undefined && isInformed && { operation }),
  };
}
