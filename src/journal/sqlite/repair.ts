// Carries a repair out on a SQLite file, in one transaction. No other process may have the file open.
import type { DatabaseSync } from 'node:sqlite';
import { type Repair, RepairPlanner } from '../repair.ts';
import { sha256 } from '../sha256-store.ts';
import { classifySqliteError } from './failure.ts';
import { dumpSqlite } from './reader.ts';
import { openDatabase } from './schema.ts';

/** Answers what became of which document. */
export async function repairSqlite(path: string): Promise<readonly string[]> {
  const database = openDatabase(path, () => '');
  try {
    database.exec('BEGIN IMMEDIATE');
    const planner = new RepairPlanner(sha256);
    await dumpSqlite(database, planner);
    const repair = planner.finish();
    apply(database, repair);
    database.exec('COMMIT');
    return repair.notes;
  } catch (error) {
    throw classifySqliteError(error);
  } finally {
    database.close();
  }
}

function apply(database: DatabaseSync, { put, drop, floor, head }: Repair): void {
  const upsert = database.prepare(
    `INSERT INTO resource (kind, id, revision, body, digest) VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, id)
     DO UPDATE SET revision = excluded.revision, body = excluded.body, digest = excluded.digest`,
  );
  for (const { kind, id, revision, body, digest } of put) upsert.run(kind, id, revision, body, digest);
  const remove = database.prepare('DELETE FROM resource WHERE kind = ? AND id = ?');
  for (const [kind, id] of drop) remove.run(kind, id);
  if (floor !== undefined) {
    database.prepare('DELETE FROM commit_log WHERE revision <= ?').run(floor.revision);
    database.prepare('DELETE FROM touched WHERE revision <= ?').run(floor.revision);
    database
      .prepare('UPDATE head SET floor_revision = ?, floor_commit_id = ?, floor_hash = ?')
      .run(floor.revision, floor.commitId, floor.hash);
  }
  database
    .prepare(
      `UPDATE head SET revision = ?, commit_id = ?, hash = ?,
         (documents, revision_sum) = (SELECT count(*), coalesce(sum(revision), 0) FROM resource)`,
    )
    .run(head.revision, head.commitId, head.hash);
}
