// Documents to text and back. The store keeps text, as the version that wrote it wrote it; the fleet keeps parsed documents, as this version
// has them. Whoever parses stored text for others to read does it with `parseDocument`.
import type { AnyDoc, Change, Id, Registry, Stored } from '../fleet/index.ts';
import type { Commit } from './request.ts';
import type { StoredCommit, StoredResource, TextChange } from './store.ts';

/** What is many is many resources: no document grows with the fleet. */
const DOCUMENT_BYTES_MAX = 64 * 1024;

const encoder = new TextEncoder();

export function isTooLarge(body: string): boolean {
  // A UTF-16 unit takes at most 3 bytes: only long texts need to be measured.
  return body.length * 3 > DOCUMENT_BYTES_MAX && encoder.encode(body).length > DOCUMENT_BYTES_MAX;
}

export function toText(change: Change): TextChange {
  return { kind: change.kind, id: change.id, body: change.doc === null ? null : JSON.stringify(change.doc) };
}

/** A SyntaxError is damage; what a migration throws is a bug of this version. */
export function parseDocument(registry: Registry, { kind, id, body }: TextChange & { readonly body: string }): AnyDoc {
  return registry.migrate(kind, id, JSON.parse(body) as AnyDoc);
}

export function parseChange(registry: Registry, { kind, id, body }: TextChange): Change {
  return { kind, id, doc: body === null ? null : parseDocument(registry, { kind, id, body }) };
}

export function toCommit(registry: Registry, read: StoredCommit): Commit {
  return { ...read, changes: read.changes.map((one) => parseChange(registry, one)) };
}

export function toStored(registry: Registry, { kind, id, revision }: StoredResource, parsed: AnyDoc): Stored {
  return { id: id as Id<string>, revision, doc: registry.migrate(kind, id, parsed) };
}

/** As it was written; undefined for a text that is none of a document. */
export function parseIntact(body: string): AnyDoc | undefined {
  try {
    return JSON.parse(body) as AnyDoc;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
