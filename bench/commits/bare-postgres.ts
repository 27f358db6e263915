// The peer of durable work on PostgreSQL: `pg` and nothing else, writing the very rows that the journal wrote, a transaction
// in three round trips with the insert prepared and each text ready. It decides nothing, checks nothing, and sends no answers.
import { Client } from 'pg';
import { openPostgresStore } from '../../src/journal/runtime.ts';
import { encodeChanges } from '../../src/journal/stored-changes.ts';
import type { BenchScope } from '../scope.ts';
import type { BareStore, Commits } from './recorded.ts';

const INSERT = `WITH
  logged AS (
    INSERT INTO bare.commit_log (revision, id, at_ms, by_whom, why, operation, changes)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])),
  touched AS (
    INSERT INTO bare.touched (kind, id, revision) SELECT * FROM unnest($8::text[], $9::text[], $10::bigint[]))
  INSERT INTO bare.resource (kind, id, revision, body)
  SELECT * FROM unnest($8::text[], $9::text[], $10::bigint[], $11::text[]) AS new (kind, id, revision, body)
  WHERE body IS NOT NULL
  ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body`;

const DELETE =
  'DELETE FROM bare.resource r USING unnest($1::text[], $2::text[]) AS gone (kind, id) WHERE (r.kind, r.id) = (gone.kind, gone.id)';

/** `schema` is where the journal has its rows: the bare store begins with the same ones. */
export async function barePostgres(scope: BenchScope, connectionString: string, schema: string): Promise<BareStore> {
  const store = await openPostgresStore({ connectionString, schema: 'bare' }); // makes the tables
  await store.close();
  const client = new Client({ connectionString });
  await client.connect();
  scope.onClose(() => client.end());
  for (const table of ['commit_log', 'resource', 'touched']) {
    await client.query(`INSERT INTO bare.${table} SELECT * FROM ${schema}.${table}`);
  }
  const head = await client.query<{ revision: string }>(
    `UPDATE bare.head SET revision = h.revision, commit_id = h.commit_id FROM ${schema}.head h RETURNING h.revision`,
  );
  await client.query('ANALYZE');
  let revision = Number(head.rows[0]?.revision);
  return (written) => {
    const transactions = written.map((commits) => {
      const values = valuesOf(commits, revision);
      revision += commits.length;
      const move = `BEGIN; UPDATE bare.head SET revision = ${revision}, commit_id = '${commits.at(-1)?.id}'`;
      return { move, values, gone: goneOf(commits) };
    });
    return async () => {
      for (const { move, values, gone } of transactions) {
        await client.query(move);
        await client.query({ name: 'insert', text: INSERT, values });
        if (gone[0].length > 0) await client.query({ name: 'delete', text: DELETE, values: gone });
        await client.query('COMMIT');
      }
    };
  };
}

function valuesOf(commits: Commits, head: number): unknown[] {
  const rows = commits.flatMap(({ changes }, at) => changes.map((change) => ({ ...change, revision: head + at + 1 })));
  return [
    commits.map((_, at) => head + at + 1),
    commits.map(({ id }) => id),
    commits.map(({ atMs }) => atMs),
    commits.map(({ by }) => by),
    commits.map(({ why }) => why ?? null),
    commits.map(({ operation }) => operation ?? null),
    commits.map(({ changes }) => encodeChanges(changes)),
    rows.map(({ kind }) => kind),
    rows.map(({ id }) => id),
    rows.map(({ revision }) => revision),
    rows.map(({ body }) => body),
  ];
}

function goneOf(commits: Commits): [kinds: string[], ids: string[]] {
  const gone = commits.flatMap(({ changes }) => changes.filter(({ body }) => body === null));
  return [gone.map(({ kind }) => kind), gone.map(({ id }) => id)];
}
