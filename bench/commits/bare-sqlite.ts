// The peer of durable work on the embedded store: `node:sqlite` and nothing else, writing the very rows that the journal wrote,
// in the same transactions, each statement prepared and each text ready. It decides nothing, checks nothing, and sends no answers.
import { DatabaseSync } from 'node:sqlite';
import { encodeChanges } from '../../src/journal/stored-changes.ts';
import type { BenchScope } from '../scope.ts';
import type { BareStore, Commits } from './recorded.ts';

/** `path` is a copy of the file that the journal began with. */
export function bareSqlite(scope: BenchScope, path: string): BareStore {
  const database = new DatabaseSync(path);
  scope.onClose(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000');
  const write = writerTo(database);
  let revision = Number(database.prepare('SELECT revision FROM head').get()?.['revision']);
  return (written) => {
    const transactions = written.map((commits) => rowsOf(commits, (revision += commits.length)));
    return async () => {
      for (const rows of transactions) write(rows);
    };
  };
}

interface Row {
  readonly revision: number;
  readonly commit: readonly (string | number | null)[];
  readonly changes: Commits[number]['changes'];
}

function rowsOf(commits: Commits, last: number): readonly Row[] {
  return commits.map(({ id, atMs, by, why, operation, changes }, at) => {
    const revision = last - commits.length + at + 1;
    const commit = [revision, id, atMs, by, why ?? null, operation ?? null, encodeChanges(changes)];
    return { revision, commit, changes };
  });
}

function writerTo(database: DatabaseSync): (rows: readonly Row[]) => void {
  const begin = database.prepare('BEGIN IMMEDIATE');
  const end = database.prepare('COMMIT');
  const moveHead = database.prepare('UPDATE head SET revision = ?, commit_id = ?');
  const log = database.prepare(
    'INSERT INTO commit_log (revision, id, at_ms, by_whom, why, operation, changes) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const touch = database.prepare('INSERT INTO touched (kind, id, revision) VALUES (?, ?, ?)');
  const upsert = database.prepare(
    `INSERT INTO resource (kind, id, revision, body) VALUES (?, ?, ?, ?)
     ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body`,
  );
  const drop = database.prepare('DELETE FROM resource WHERE kind = ? AND id = ?');
  return (rows) => {
    begin.run();
    for (const { revision, commit, changes } of rows) {
      log.run(...commit);
      for (const { kind, id, body } of changes) {
        touch.run(kind, id, revision);
        if (body === null) drop.run(kind, id);
        else upsert.run(kind, id, revision, body);
      }
    }
    const last = rows.at(-1);
    if (last !== undefined) moveHead.run(last.revision, last.commit[1] ?? null);
    end.run();
  };
}
