// Reads a PostgreSQL store from beginning to end in one snapshot, beside servers that write to it. It must never write: not
// even to bring the schema up to date.
import { escapeIdentifier, type PoolClient } from 'pg';
import { COMMIT_COLUMNS, type CommitRow } from '../commit-row.ts';
import { DUMP_PAGE, type DumpSink, type StoreReader } from '../dump.ts';
import type { ResourceRow } from '../load-check.ts';
import { lastRow, PostgresConnections } from './connections.ts';
import { HEAD_COLUMNS, type PostgresHeadRow, toLoadedHead } from './head-row.ts';
import { postgresHosts } from './hosts-from-url.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { StoreUnusable } from '../store.ts';

export interface PostgresReaderOptions {
  readonly connectionString: string;
  readonly schema?: string;
}

export function openPostgresReader({ connectionString, schema = 'muster' }: PostgresReaderOptions): StoreReader {
  const connections = new PostgresConnections(postgresHosts(connectionString));
  const s = escapeIdentifier(schema);
  return {
    dump: (sink) =>
      connections.readTransaction(async (client) => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
        await dumpPostgres(client, s, sink);
        return { end: 'rollback', answer: undefined };
      }),
    close: () => connections.close(),
  };
}

/** In a transaction of the caller's. */
export async function dumpPostgres(client: PoolClient, s: string, sink: DumpSink): Promise<void> {
  const found = await client.query<{ readonly there: boolean }>(
    `SELECT to_regclass('${s}.schema_version') IS NOT NULL AS there`,
  );
  const version = found.rows[0]?.there === true ? await versionOf(client, s) : 0;
  if (version !== SCHEMA_VERSION) {
    const what = version > SCHEMA_VERSION ? 'run a newer Muster' : 'start a server of this version on it once';
    throw new StoreUnusable(
      'schema-differs',
      `its schema has version ${version}, and this is about ${SCHEMA_VERSION}: ${what}`,
    );
  }
  const head = await lastRow<PostgresHeadRow & { readonly journal_id: string }>(
    client,
    `DECLARE resources NO SCROLL CURSOR FOR
       SELECT kind, id, revision::float8 AS revision, body, digest FROM ${s}.resource ORDER BY kind, id;
     DECLARE commits NO SCROLL CURSOR FOR SELECT ${COMMIT_COLUMNS} FROM ${s}.commit_log c ORDER BY c.revision;
     SELECT ${HEAD_COLUMNS}, h.journal_id FROM ${s}.head h`,
  );
  if (head === undefined) throw new Error('the head row is gone');
  const one = `SELECT body FROM ${s}.resource WHERE kind = $1 AND id = $2`;
  const find = async (kind: string, id: string) =>
    (await client.query<{ body: string }>(one, [kind, id])).rows[0]?.body;
  await sink.head({ ...toLoadedHead(head), journalId: head.journal_id }, find);
  await fetchPages<ResourceRow>(client, 'resources', (page) => sink.resources(page));
  await fetchPages<CommitRow>(client, 'commits', (page) => sink.commits(page));
}

async function versionOf(client: PoolClient, s: string): Promise<number> {
  const found = await client.query<{ readonly version: number }>(`SELECT version FROM ${s}.schema_version`);
  return found.rows[0]?.version ?? 0;
}

type Take<T> = (page: readonly T[]) => void | Promise<void>;

async function fetchPages<T>(client: PoolClient, cursor: string, take: Take<T>): Promise<void> {
  for (;;) {
    const { rows } = await client.query(`FETCH ${DUMP_PAGE} FROM ${cursor}`);
    if (rows.length > 0) await take(rows as T[]);
    if (rows.length < DUMP_PAGE) return;
  }
}
