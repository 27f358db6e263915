// Where a reader stands against what the store has: the rules of `read`, the same for both databases.
import { commitOf, type CommitRow } from './commit-row.ts';
import type { Position, ReadAnswer } from './store.ts';

export interface StoredHead {
  readonly revision: number;
  readonly floorRevision: number;
  readonly floorCommitId: string | null;
}

interface FoundRows {
  readonly head: StoredHead;
  /** One more than asked for, from the position's own revision on (which is not there at the floor), oldest first. */
  readonly rows: readonly CommitRow[];
}

export function readAnswer(after: Position, limit: number, { head, rows }: FoundRows): ReadAnswer {
  if (after.revision > head.revision) return { kind: 'diverged', head: head.revision };
  if (after.revision < head.floorRevision) return { kind: 'gone', oldest: head.floorRevision + 1 };
  const atFloor = after.revision === head.floorRevision;
  const commitId = atFloor ? (head.floorCommitId ?? undefined) : rows[0]?.id;
  if (after.commitId !== undefined && after.commitId !== commitId) return { kind: 'diverged', head: head.revision };
  const start = atFloor ? 0 : 1;
  return { kind: 'commits', commits: rows.slice(start, start + limit).map(commitOf), head: head.revision };
}
