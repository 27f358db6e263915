// The head row as SQLite answers it.
import type { LoadedHead } from '../load-check.ts';

export interface SqliteHeadRow {
  readonly journal_id: string;
  readonly revision: number;
  readonly commit_id: string | null;
  readonly hash: string | null;
  readonly floor_revision: number;
  readonly floor_commit_id: string | null;
  readonly floor_hash: string | null;
  readonly chained_from: number | null;
  readonly documents: number;
  readonly revision_sum: number;
}

export function toLoadedHead(row: SqliteHeadRow): LoadedHead {
  return {
    revision: row.revision,
    commitId: row.commit_id,
    hash: row.hash,
    floorRevision: row.floor_revision,
    floorCommitId: row.floor_commit_id,
    floorHash: row.floor_hash,
    chainedFrom: row.chained_from,
    totals: { count: row.documents, revisionSum: row.revision_sum },
  };
}
