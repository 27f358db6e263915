// Fills an empty PostgreSQL schema from a dump. A mark that is committed first shows that a store was not filled to its end:
// no server starts on it, and the restore can be run again. Everything else is one transaction.
import { escapeIdentifier, type PoolClient } from 'pg';
import { PostgresConnections } from './connections.ts';
import { prepareSchema } from './schema.ts';
import { postgresHosts } from './hosts-from-url.ts';
import type { CommitRow } from '../commit-row.ts';
import type { DumpHead } from '../dump.ts';
import type { ResourceRow } from '../load-check.ts';
import { storeNotEmptyError, type RestoreTarget } from '../restore.ts';
import { listTouchedResources } from '../stored-changes.ts';

export interface PostgresRestoreOptions {
  readonly connectionString: string;
  readonly name: string;
  readonly journalId: string;
  readonly schema?: string;
}

export async function openPostgresRestore(options: PostgresRestoreOptions): Promise<RestoreTarget> {
  const { connectionString, name, journalId, schema = 'muster' } = options;
  const s = escapeIdentifier(schema);
  const connections = new PostgresConnections(postgresHosts(connectionString));
  await prepareSchema(connections, { schema, newJournalId: () => journalId, mayBeHalfRestored: true });
  // The transaction is open from `begin` to `finish` or `close`: its work arrives page by page.
  let open: { readonly client: PoolClient; end(how: 'commit' | 'rollback'): Promise<void> } | undefined;
  const client = (): PoolClient => {
    if (open === undefined) throw new Error('the restore has not begun');
    return open.client;
  };
  return {
    journalId,
    begin: async (mark) => {
      await markEmpty(connections, { s, name, mark });
      open = await beginTransaction(connections);
    },
    resources: (page) => insertResources(client(), s, page),
    commits: (page) => insertCommits(client(), s, page),
    finish: async (head) => {
      await writeHead(client(), s, head, journalId);
      await open?.end('commit');
      open = undefined;
    },
    close: async () => {
      await open?.end('rollback');
      await connections.close();
    },
  };
}

function markEmpty(
  connections: PostgresConnections,
  { s, name, mark }: { readonly s: string; readonly name: string; readonly mark: string },
): Promise<void> {
  return connections.transaction(async (client) => {
    await client.query('BEGIN');
    const found = await client.query<{ readonly used: boolean }>(
      `SELECT revision > 0 OR EXISTS (SELECT FROM ${s}.resource) AS used FROM ${s}.head FOR UPDATE`,
    );
    if (found.rows[0]?.used !== false) throw storeNotEmptyError(name);
    await client.query(`UPDATE ${s}.head SET restoring = $1`, [mark]);
    return { end: 'commit', answer: undefined };
  });
}

async function beginTransaction(connections: PostgresConnections) {
  const started = Promise.withResolvers<PoolClient>();
  const ending = Promise.withResolvers<'commit' | 'rollback'>();
  const ended = connections.transaction(async (client) => {
    await client.query('BEGIN');
    started.resolve(client);
    return { end: await ending.promise, answer: undefined };
  });
  ended.catch((error: unknown) => started.reject(error));
  const client = await started.promise;
  const end = async (how: 'commit' | 'rollback'): Promise<void> => {
    ending.resolve(how);
    await ended;
  };
  return { client, end };
}

async function insertResources(client: PoolClient, s: string, page: readonly ResourceRow[]): Promise<void> {
  await client.query(
    `INSERT INTO ${s}.resource (kind, id, revision, body, digest)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])`,
    [
      ...[page.map((one) => one.kind), page.map((one) => one.id), page.map((one) => one.revision)],
      ...[page.map((one) => one.body), page.map((one) => one.digest)],
    ],
  );
}

async function insertCommits(client: PoolClient, s: string, page: readonly CommitRow[]): Promise<void> {
  await client.query(
    `INSERT INTO ${s}.commit_log (revision, id, at_ms, by_whom, why, operation, changes, hash)
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])`,
    [
      ...[page.map((one) => one.revision), page.map((one) => one.id), page.map((one) => one.at_ms)],
      ...[page.map((one) => one.by_whom), page.map((one) => one.why), page.map((one) => one.operation)],
      ...[page.map((one) => one.changes), page.map((one) => one.hash)],
    ],
  );
  const touched = page.flatMap(({ revision, changes }) =>
    listTouchedResources(changes).map(([kind, id]) => ({ kind, id, revision })),
  );
  await client.query(
    `INSERT INTO ${s}.touched (kind, id, revision) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
     ON CONFLICT DO NOTHING`,
    [touched.map((one) => one.kind), touched.map((one) => one.id), touched.map((one) => one.revision)],
  );
}

async function writeHead(client: PoolClient, s: string, head: DumpHead, journalId: string): Promise<void> {
  await client.query(
    `UPDATE ${s}.head SET journal_id = $1, revision = $2, commit_id = $3, hash = $4, floor_revision = $5,
       floor_commit_id = $6, floor_hash = $7, chained_from = $8, restoring = NULL,
       (documents, revision_sum) = (SELECT count(*), coalesce(sum(revision), 0) FROM ${s}.resource)`,
    [
      ...[journalId, head.revision, head.commitId, head.hash, head.floorRevision, head.floorCommitId],
      ...[head.floorHash, head.chainedFrom],
    ],
  );
}
