// A row of the commit log as either database answers it, and back to a commit. PostgreSQL answers 64-bit numbers as text.
import { decodeChanges, type WantedChanges } from './stored-changes.ts';
import type { StoredCommit } from './store.ts';

export const COMMIT_COLUMNS = 'c.revision, c.id, c.at_ms, c.by_whom, c.why, c.operation, c.changes, c.hash';

export interface CommitRow {
  readonly revision: number | string;
  readonly id: string;
  readonly at_ms: number | string;
  readonly by_whom: string;
  readonly why: string | null;
  readonly operation: string | null;
  readonly changes: string;
  readonly hash: string | null;
}

export function commitOf(row: CommitRow, wanted?: WantedChanges): StoredCommit {
  return {
    revision: Number(row.revision),
    id: row.id,
    atMs: Number(row.at_ms),
    by: row.by_whom,
    ...(row.why === null ? {} : { why: row.why }),
    ...(row.operation === null ? {} : { operation: row.operation }),
    changes: decodeChanges(row.changes, wanted),
    ...(row.hash === null ? {} : { hash: row.hash }),
  };
}
