// The peer of the embedded store: `node:sqlite` and nothing else, writing the rows that the journal writes, to the same
// tables, with the same settings, each statement prepared. It checks nothing and sends no answers.
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import { encodeChanges } from '../../src/journal/stored-changes.ts';
import type { BenchScope } from '../scope.ts';
import type { BareJournalStore } from './compare.ts';
import { changedHosts, fill } from './load.ts';

export async function bareSqlite(scope: BenchScope, path: string): Promise<BareJournalStore> {
  const store = await openSqliteStore({ path }); // makes the tables
  await fill(store);
  await store.close();
  const database = new DatabaseSync(path);
  scope.onClose(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000');
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const moveHead = database.prepare('UPDATE head SET revision = ?, commit_id = ?');
  const log = database.prepare(
    'INSERT INTO commit_log (revision, id, at_ms, by_whom, why, operation, changes) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const touch = database.prepare('INSERT INTO touched (kind, id, revision) VALUES (?, ?, ?)');
  const upsert = database.prepare(
    `INSERT INTO resource (kind, id, revision, body) VALUES (?, ?, ?, ?)
     ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body`,
  );
  const hosts = changedHosts();
  let revision = Number(database.prepare('SELECT revision FROM head').get()?.['revision']);
  return async (commits) => {
    begin.run();
    let commitId = '';
    for (let left = commits; left > 0; left -= 1) {
      revision += 1;
      const { id, doc } = hosts[revision % hosts.length]!;
      const body = JSON.stringify(doc);
      commitId = `c-${String(revision).padStart(20, '0')}`;
      const changes = encodeChanges([{ kind: 'host', id, body }]);
      log.run(revision, commitId, doc.changedAtMs, doc.changedBy, 'a benchmark', null, changes);
      touch.run('host', id, revision);
      upsert.run('host', id, revision, body);
    }
    moveHead.run(revision, commitId);
    commit.run();
  };
}
