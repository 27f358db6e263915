// Documents to text and back. The store keeps text; the fleet keeps parsed documents.
import type { AnyDoc, Change, Id, Stored } from '../fleet/index.ts';
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

export function toCommit(read: StoredCommit): Commit {
  return { ...read, changes: read.changes.map((one) => ({ kind: one.kind, id: one.id, doc: parseBody(one.body) })) };
}

function parseBody(body: string | null): AnyDoc | null {
  return body === null ? null : (JSON.parse(body) as AnyDoc);
}

export function toStored(resource: StoredResource): Stored {
  return { id: resource.id as Id<string>, revision: resource.revision, doc: JSON.parse(resource.body) as AnyDoc };
}
