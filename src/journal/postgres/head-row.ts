// The head row as PostgreSQL answers it: 64-bit numbers are text.
import type { LoadedHead } from '../load-check.ts';

export const HEAD_COLUMNS = `h.revision AS head, h.commit_id AS head_commit_id, h.hash AS head_hash, h.floor_revision,
  h.floor_commit_id, h.floor_hash, h.chained_from, h.documents, h.revision_sum`;

export interface PostgresHeadRow {
  readonly head: string;
  readonly head_commit_id: string | null;
  readonly head_hash: string | null;
  readonly floor_revision: string;
  readonly floor_commit_id: string | null;
  readonly floor_hash: string | null;
  readonly chained_from: string | null;
  readonly documents: string | null;
  readonly revision_sum: string | null;
}

export function toLoadedHead(row: PostgresHeadRow): LoadedHead {
  const { documents, revision_sum: sum } = row;
  return {
    revision: Number(row.head),
    commitId: row.head_commit_id,
    hash: row.head_hash,
    floorRevision: Number(row.floor_revision),
    floorCommitId: row.floor_commit_id,
    floorHash: row.floor_hash,
    chainedFrom: row.chained_from === null ? null : Number(row.chained_from),
    totals: documents === null || sum === null ? undefined : { count: Number(documents), revisionSum: Number(sum) },
  };
}
