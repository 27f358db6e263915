// The hash chain over commits: each commit's hash covers its content and the hash before it, and each document has a digest
// of its own that the commit's hash is made of. Pure: SHA-256 comes in as a parameter. The framing must never change: a hash
// that was written stays on disk for as long as the commit does.
import type { CommitNote, StoredCommit, TextChange } from './store.ts';

/** SHA-256 of a text in UTF-8, in lower-case hexadecimal. */
export type Sha256 = (text: string) => string;

/** Documents are many, and their digests guard against damage, not against forgery: half of the hash will do. */
const DOCUMENT_DIGEST_CHARS = 32;

/** Where a chain stands: the hash is null before its first commit. */
export interface ChainPosition {
  readonly revision: number;
  readonly hash: string | null;
}

/** What the chain adds to a commit. */
export interface ChainedCommit {
  readonly hash: string;
  /** Of each change, in order; null for a deletion. As they are kept beside the documents. */
  readonly digests: readonly (string | null)[];
}

type Document = Pick<TextChange, 'kind' | 'id'> & { readonly body: string; readonly revision: number };

/** As it is kept beside a document. */
export function digestDocument(sha256: Sha256, document: Document): string {
  return hashDocument(sha256, document).slice(0, DOCUMENT_DIGEST_CHARS);
}

/** Continues a chain over the commits of a group, which follow each other without a gap. */
export function chainCommits(
  sha256: Sha256,
  after: ChainPosition,
  commits: readonly (CommitNote & { readonly changes: readonly TextChange[] })[],
): readonly ChainedCommit[] {
  let { revision, hash } = after;
  return commits.map((commit) => {
    revision += 1;
    const hashes = commit.changes.map((change) => hashChange(sha256, change, revision));
    hash = hashCommit(sha256, { before: hash, revision, commit, hashes });
    return { hash, digests: hashes.map((one) => one?.slice(0, DOCUMENT_DIGEST_CHARS) ?? null) };
  });
}

/** The hash that a commit must have, given the one before it. */
export function hashOf(sha256: Sha256, before: string | null, commit: StoredCommit): string {
  const { revision } = commit;
  const hashes = commit.changes.map((change) => hashChange(sha256, change, revision));
  return hashCommit(sha256, { before, revision, commit, hashes });
}

interface Link {
  readonly before: string | null;
  readonly revision: number;
  readonly commit: CommitNote & { readonly changes: readonly TextChange[] };
  readonly hashes: readonly (string | null)[];
}

function hashCommit(sha256: Sha256, { before, revision, commit, hashes }: Link): string {
  const { id, atMs, by, why, operation, changes } = commit;
  let text = `muster-commit-1 ${before ?? '-'} ${revision} ${atMs} ${changes.length} `;
  text += frame(id) + frame(by) + frame(why) + frame(operation);
  for (const [nth, { kind, id: resource }] of changes.entries()) {
    text += `${frame(kind)}${frame(resource)}${hashes[nth] ?? '-'} `;
  }
  return sha256(text);
}

function hashChange(sha256: Sha256, { kind, id, body }: TextChange, revision: number): string | null {
  return body === null ? null : hashDocument(sha256, { kind, id, body, revision });
}

function hashDocument(sha256: Sha256, { kind, id, body, revision }: Document): string {
  return sha256(`muster-document-1 ${revision} ${frame(kind)}${frame(id)}${frame(body)}`);
}

/** With its length before it, so that no two lists of texts frame to the same; absent is not empty. */
function frame(text: string | undefined): string {
  return text === undefined ? '- ' : `${text.length}:${text} `;
}
