// Opens the SQLite file, makes sure that a commit will be on disk when it is acknowledged, and brings the schema up to date.
// It must never open a file that a newer program has written.
import { DatabaseSync } from 'node:sqlite';
import { halfRestoredError } from '../restore.ts';
import { classifySqliteError } from './failure.ts';
import { StoreUnusable } from '../store.ts';

// Another process may hold the write lock while it flushes one group; more than that is trouble.
const BUSY_TIMEOUT_MS = 2000;

const SYNCHRONOUS_FULL = 2;

// 16 MB of log before it is brought into the tables, four times SQLite's own: pages that many commits change, as those at the
// end of an index, are copied a quarter as often. What a start after a crash has to read stays small.
const LOG_PAGES = 4000;

/** One step each, never edited once released: `user_version` counts those that were applied. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE head (
     only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
     journal_id TEXT NOT NULL,
     revision INTEGER NOT NULL,
     commit_id TEXT,
     floor_revision INTEGER NOT NULL,
     floor_commit_id TEXT
   ) STRICT;
   CREATE TABLE commit_log (
     revision INTEGER PRIMARY KEY,
     id TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     by_whom TEXT NOT NULL,
     why TEXT,
     operation TEXT,
     changes TEXT NOT NULL
   ) STRICT;
   CREATE INDEX commit_log_by_operation ON commit_log (operation, revision) WHERE operation IS NOT NULL;
   CREATE TABLE resource (
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     revision INTEGER NOT NULL,
     body TEXT NOT NULL,
     PRIMARY KEY (kind, id)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE touched (
     kind TEXT NOT NULL,
     id TEXT NOT NULL,
     revision INTEGER NOT NULL,
     PRIMARY KEY (kind, id, revision)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE lease (
     name TEXT PRIMARY KEY,
     holder TEXT NOT NULL,
     url TEXT NOT NULL,
     epoch INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  // The hash chain: a store that was written before it has no hashes below `chained_from`, and no digests beside documents
  // until they are written again. The totals notice documents that are missing, added or older than they should be.
  `ALTER TABLE head ADD COLUMN hash TEXT;
   ALTER TABLE head ADD COLUMN floor_hash TEXT;
   ALTER TABLE head ADD COLUMN chained_from INTEGER;
   ALTER TABLE head ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE head ADD COLUMN revision_sum INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE head ADD COLUMN restoring TEXT;
   ALTER TABLE commit_log ADD COLUMN hash TEXT;
   ALTER TABLE resource ADD COLUMN digest TEXT;
   UPDATE head SET (documents, revision_sum) = (SELECT count(*), coalesce(sum(revision), 0) FROM resource);`,
  // Nothing but the number: documents may have names that version 0.1.0 does not know, and it refuses the store instead of misreading them.
  '',
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** A connection whose commits are on disk when it says so. The schema is as it is. */
export function connect(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    demandDurability(database, path);
    database.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Refuses a file that was not restored to its end. */
export function openDatabase(path: string, newJournalId: () => string): DatabaseSync {
  return openMigrated(path, newJournalId, (database) => {
    const mark = database.prepare('SELECT restoring FROM head').get()?.['restoring'];
    if (typeof mark === 'string') throw halfRestoredError(path, mark);
  });
}

export function openDatabaseToRestore(path: string, newJournalId: () => string): DatabaseSync {
  return openMigrated(path, newJournalId, () => undefined);
}

function openMigrated(path: string, newJournalId: () => string, check: (database: DatabaseSync) => void): DatabaseSync {
  try {
    const database = connect(path);
    try {
      migrate(database, path, newJournalId);
      check(database);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw classifySqliteError(error);
  }
}

function demandDurability(database: DatabaseSync, path: string): void {
  // On macOS only fullfsync reaches the disk; elsewhere it means nothing.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;');
  const mode = database.prepare('PRAGMA journal_mode').get()?.['journal_mode'];
  if (mode !== 'wal') {
    throw new StoreUnusable('sqlite-not-wal', `${path} does not take a write-ahead log (journal mode ${String(mode)})`);
  }
  const synchronous = database.prepare('PRAGMA synchronous').get()?.['synchronous'];
  if (synchronous !== SYNCHRONOUS_FULL) {
    throw new StoreUnusable(
      'sqlite-not-durable',
      `${path} does not take synchronous = FULL: a power cut loses commits`,
    );
  }
}

function migrate(database: DatabaseSync, path: string, newJournalId: () => string): void {
  database.exec('BEGIN IMMEDIATE'); // two processes may start on an empty file
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version > MIGRATIONS.length) {
    const known = `this program knows schemas up to ${MIGRATIONS.length}`;
    throw new StoreUnusable('schema-too-new', `${path} has schema ${version}, ${known}: run a newer Muster`);
  }
  for (const step of MIGRATIONS.slice(version)) database.exec(step);
  if (version === 0) {
    database
      .prepare('INSERT INTO head (only_row, journal_id, revision, floor_revision) VALUES (1, ?, 0, 0)')
      .run(newJournalId());
  }
  database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  database.exec('COMMIT');
}
