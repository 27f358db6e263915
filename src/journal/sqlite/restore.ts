// Fills an empty SQLite file from a dump. A mark that is committed first shows that a store was not filled to its end: no
// server starts on it, and the restore can be run again. Everything else is one transaction.
import type { DatabaseSync } from 'node:sqlite';
import type { CommitRow } from '../commit-row.ts';
import type { DumpHead } from '../dump.ts';
import type { ResourceRow } from '../load-check.ts';
import { storeNotEmptyError, type RestoreTarget } from '../restore.ts';
import { classifySqliteError } from './failure.ts';
import { openDatabaseToRestore } from './schema.ts';
import { listTouchedResources } from '../stored-changes.ts';

export function openSqliteRestore(path: string, journalId: string): RestoreTarget {
  const database = openDatabaseToRestore(path, () => journalId);
  const sql = {
    resource: database.prepare('INSERT INTO resource (kind, id, revision, body, digest) VALUES (?, ?, ?, ?, ?)'),
    commit: database.prepare(
      `INSERT INTO commit_log (revision, id, at_ms, by_whom, why, operation, changes, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    touch: database.prepare('INSERT OR IGNORE INTO touched (kind, id, revision) VALUES (?, ?, ?)'),
  };
  return {
    journalId,
    begin: (mark) => translateErrors(() => begin(database, path, mark)),
    resources: (page) =>
      translateErrors(() =>
        page.forEach((row: ResourceRow) => sql.resource.run(row.kind, row.id, row.revision, row.body, row.digest)),
      ),
    commits: (page) =>
      translateErrors(() =>
        page.forEach((row: CommitRow) => {
          const { revision, id, at_ms: atMs, by_whom: by, why, operation, changes, hash } = row;
          sql.commit.run(revision, id, atMs, by, why, operation, changes, hash);
          for (const [kind, resource] of listTouchedResources(changes)) sql.touch.run(kind, resource, revision);
        }),
      ),
    finish: (head) => translateErrors(() => finish(database, head, journalId)),
    close: async () => database.close(),
  };
}

function begin(database: DatabaseSync, path: string, mark: string): void {
  database.exec('BEGIN IMMEDIATE');
  const head = database.prepare('SELECT revision, (SELECT count(*) FROM resource) AS documents FROM head').get();
  if (Number(head?.['revision']) > 0 || Number(head?.['documents']) > 0) {
    database.exec('ROLLBACK');
    throw storeNotEmptyError(path);
  }
  database.prepare('UPDATE head SET restoring = ?').run(mark);
  database.exec('COMMIT');
  database.exec('BEGIN IMMEDIATE');
}

function finish(database: DatabaseSync, head: DumpHead, journalId: string): void {
  database
    .prepare(
      `UPDATE head SET journal_id = ?, revision = ?, commit_id = ?, hash = ?, floor_revision = ?, floor_commit_id = ?,
         floor_hash = ?, chained_from = ?, restoring = NULL,
         (documents, revision_sum) = (SELECT count(*), coalesce(sum(revision), 0) FROM resource)`,
    )
    .run(
      ...[journalId, head.revision, head.commitId, head.hash, head.floorRevision, head.floorCommitId],
      ...[head.floorHash, head.chainedFrom],
    );
  database.exec('COMMIT');
}

async function translateErrors(work: () => void): Promise<void> {
  try {
    work();
  } catch (error) {
    throw classifySqliteError(error);
  }
}
