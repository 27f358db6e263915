// Reads a SQLite file from beginning to end in one transaction, beside a server that writes to it. It must never write: not
// even to bring the schema up to date.
import { DatabaseSync } from 'node:sqlite';
import { COMMIT_COLUMNS, type CommitRow } from '../commit-row.ts';
import { DUMP_PAGE, type DumpSink, type StoreReader } from '../dump.ts';
import type { ResourceRow } from '../load-check.ts';
import { classifySqliteError } from './failure.ts';
import { type SqliteHeadRow, toLoadedHead } from './head-row.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { StoreUnusable } from '../store.ts';

export function openSqliteReader(path: string): StoreReader {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
    try {
      demandSchema(database, path);
    } catch (error) {
      database.close();
      throw error;
    }
    return { dump: (sink) => dumpSqlite(database, sink), close: async () => database.close() };
  } catch (error) {
    throw classifySqliteError(error);
  }
}

function demandSchema(database: DatabaseSync, path: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version === SCHEMA_VERSION) return;
  const what = version > SCHEMA_VERSION ? 'run a newer Muster' : 'start a server of this version on it once';
  throw new StoreUnusable(
    'schema-differs',
    `${path} has schema ${version}, and this is about ${SCHEMA_VERSION}: ${what}`,
  );
}

/** In the transaction that the connection is in, or else in one of its own. */
export async function dumpSqlite(database: DatabaseSync, sink: DumpSink): Promise<void> {
  const isOwn = !database.isTransaction;
  if (isOwn) database.exec('BEGIN');
  try {
    const head = database.prepare('SELECT * FROM head').get() as unknown as SqliteHeadRow;
    const one = database.prepare('SELECT body FROM resource WHERE kind = ? AND id = ?');
    const find = async (kind: string, id: string) => one.get(kind, id)?.['body'] as string | undefined;
    await sink.head({ ...toLoadedHead(head), journalId: head.journal_id }, find);
    const resources = database.prepare('SELECT kind, id, revision, body, digest FROM resource ORDER BY kind, id');
    await takePages(resources.iterate() as unknown as Iterable<ResourceRow>, (page) => sink.resources(page));
    const commits = database.prepare(`SELECT ${COMMIT_COLUMNS} FROM commit_log c ORDER BY c.revision`);
    await takePages(commits.iterate() as unknown as Iterable<CommitRow>, (page) => sink.commits(page));
  } catch (error) {
    throw classifySqliteError(error);
  } finally {
    if (isOwn && database.isTransaction) database.exec('ROLLBACK');
  }
}

type Take<T> = (page: readonly T[]) => void | Promise<void>;

async function takePages<T>(rows: Iterable<T>, take: Take<T>): Promise<void> {
  let page: T[] = [];
  for (const row of rows) {
    page.push(row);
    if (page.length < DUMP_PAGE) continue;
    await take(page);
    page = [];
  }
  if (page.length > 0) await take(page);
}
