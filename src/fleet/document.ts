// Documents as the journal keeps them: a kind, an id, a revision, a body.
// Nothing here knows what a host or an operation is.

import type { FleetReader } from './reader.ts';
import type { FieldPath } from './sealed-fields.ts';

declare const brand: unique symbol;

/** An id that belongs to one kind: a `HostId` cannot be passed where a `SiteId` is required. */
export type Id<K extends string> = string & { readonly [brand]: K };

/** What a kind may look like to code that serves every kind. */
export type AnyDoc = object;

export interface Stored<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly id: Id<K>;
  /** The revision of the commit that last changed this document. */
  readonly revision: number;
  readonly doc: D;
}

/** Who makes a change, and when: a decision writes them as `changedBy` and `changedAtMs`. */
export interface ChangeNote {
  readonly by: string;
  readonly nowMs: number;
}

/** A resource's whole new document, or its deletion. */
export interface Change {
  readonly kind: string;
  readonly id: string;
  readonly doc: AnyDoc | null;
}

/** Letters, digits and `. _ : @ -`; ids appear in URLs, file names and metrics. */
const ID_FORM = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/;

export function isId(text: string): boolean {
  return ID_FORM.test(text);
}

/** A kind of document. Modules declare theirs in `model.ts` and register them with the fleet. */
export interface Kind<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly name: K;
  /** Says what is wrong with a document, by field; undefined when nothing is. Runs on every commit. */
  readonly check: (doc: unknown) => string | undefined;
  /** Those that hold sealed secrets; none where it is missing. */
  readonly sealedFields?: readonly FieldPath[];
  /** When the document may be forgotten; undefined for one that stays. */
  readonly expiresAtMs?: (doc: D, fleet: FleetReader) => number | undefined;
}

/** Marks a string as an id of this kind. The caller has checked the form, or read it from a document. */
export function idOf<K extends string>(_kind: Kind<K, never>, text: string): Id<K> {
  return text as Id<K>;
}

export function put<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>, doc: D): Change {
  return { kind: kind.name, id, doc };
}

export function remove<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Change {
  return { kind: kind.name, id, doc: null };
}

/** One change per document, the last one: what a decision that touched a document twice commits. */
export function mergeChanges(changes: readonly Change[]): Change[] {
  const byDocument = new Map<string, Change>();
  for (const change of changes) byDocument.set(`${change.kind}/${change.id}`, change);
  return [...byDocument.values()];
}

/** The answer to a request that is understood and not carried out. It is returned, never thrown. */
export interface Refusal {
  readonly kind:
    /** The form is wrong, in a way that no schema says. */
    | 'malformed'
    | 'invalid'
    | 'not-found'
    | 'conflict'
    | 'unauthenticated'
    | 'forbidden'
    | 'precondition'
    | 'limit'
    | 'gone'
    /** Not now: the same request may be accepted later. */
    | 'unavailable';
  /** Stable, kebab-case: programs compare it. */
  readonly code: string;
  /** A sentence for a person: what is wrong and what to do. */
  readonly message: string;
  /** The offending field, as a JSON pointer. */
  readonly field?: string;
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Of `unavailable`: when to send the request again. */
  readonly retryAfterMs?: number;
}

/** Why something waits or failed: a code and the facts that its sentence needs. */
export interface Reason {
  readonly code: string;
  readonly [fact: string]: string | number | boolean | readonly string[] | undefined;
}
