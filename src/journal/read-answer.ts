// Where a reader stands against what the store has: the rules of `read`, the same for both databases. Commits that do not
// match the hash chain are never answered.
import type { Sha256 } from './chain.ts';
import { ChainWalk } from './chain-walk.ts';
import { commitOf, type CommitRow } from './commit-row.ts';
import type { Position, ReadAnswer, StoredCommit } from './store.ts';

export interface StoredHead {
  readonly revision: number;
  readonly floorRevision: number;
  readonly floorCommitId: string | null;
  readonly floorHash: string | null;
  readonly chainedFrom: number | null;
}

interface FoundRows {
  readonly head: StoredHead;
  /** One more than requested, from the position's own revision on (which is not there at the floor), oldest first. */
  readonly rows: readonly CommitRow[];
  /** Whether the page ended early because it is full of bytes: then there are more. */
  readonly isFull?: boolean;
}

export function readAnswer(after: Position, limit: number, found: FoundRows, sha256: Sha256): ReadAnswer {
  const { head, rows } = found;
  if (after.revision > head.revision) return { kind: 'diverged', head: head.revision };
  if (after.revision < head.floorRevision) return { kind: 'gone', oldest: head.floorRevision + 1 };
  const atFloor = after.revision === head.floorRevision;
  const own = atFloor ? { id: head.floorCommitId, hash: head.floorHash } : rows[0];
  if (!atFloor && Number(rows[0]?.revision) !== after.revision) {
    return { kind: 'damaged', damage: { kind: 'missing-commits', from: after.revision, to: after.revision } };
  }
  if (isMismatch(after.commitId, own?.id) || isMismatch(after.hash, own?.hash)) {
    return { kind: 'diverged', head: head.revision };
  }
  const start = atFloor ? 0 : 1;
  return checkCommits(rows.slice(start, start + limit), {
    head,
    after: { revision: after.revision, hash: own?.hash ?? null },
    isLastPage: rows.length < start + limit && found.isFull !== true,
    sha256,
  });
}

/** The reader knows it, and the store has another one. Where the store has none there is nothing to compare. */
function isMismatch(known: string | undefined, stored: string | null | undefined): boolean {
  return known !== undefined && known !== stored;
}

interface CheckContext {
  readonly head: StoredHead;
  readonly after: { readonly revision: number; readonly hash: string | null };
  readonly isLastPage: boolean;
  readonly sha256: Sha256;
}

function checkCommits(rows: readonly CommitRow[], { head, after, isLastPage, sha256 }: CheckContext): ReadAnswer {
  const walk = new ChainWalk(sha256, { after, chainedFrom: head.chainedFrom });
  const commits: StoredCommit[] = [];
  for (const row of rows) {
    const commit = decodeRow(row);
    const damage =
      commit === undefined ? walk.skip({ revision: Number(row.revision), hash: row.hash }) : walk.take(commit);
    if (damage !== undefined) return { kind: 'damaged', damage };
    if (commit !== undefined) commits.push(commit);
  }
  const damage = isLastPage ? walk.end(head.revision) : undefined;
  return damage === undefined ? { kind: 'commits', commits, head: head.revision } : { kind: 'damaged', damage };
}

/** Undefined when the row cannot even be taken apart. */
export function decodeRow(row: CommitRow): StoredCommit | undefined {
  try {
    return commitOf(row);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** As the port says it: what is not there is left out. */
export function positionOf(head: {
  readonly revision: number;
  readonly commitId: string | null;
  readonly hash: string | null;
}): Position {
  const { revision, commitId, hash } = head;
  return { revision, ...(commitId !== null && { commitId }), ...(hash !== null && { hash }) };
}
