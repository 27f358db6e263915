// The peer of the PostgreSQL store: `pg` and nothing else, writing the rows that the journal writes, to the same tables, a
// transaction in three round trips with the insert prepared. It checks nothing and sends no answers.
import { Client } from 'pg';
import { openPostgresStore } from '../../src/journal/runtime.ts';
import { encodeChanges } from '../../src/journal/stored-changes.ts';
import type { BenchScope } from '../scope.ts';
import type { BareJournalStore } from './compare.ts';
import { changedHosts, fill } from './load.ts';

const INSERT = `WITH
  logged AS (
    INSERT INTO bare.commit_log (revision, id, at_ms, by_whom, why, changes)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])),
  touched AS (
    INSERT INTO bare.touched (kind, id, revision) SELECT * FROM unnest($7::text[], $8::text[], $1::bigint[]))
  INSERT INTO bare.resource (kind, id, revision, body)
  SELECT * FROM unnest($7::text[], $8::text[], $1::bigint[], $9::text[])
  ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body`;

export async function barePostgres(scope: BenchScope, connectionString: string): Promise<BareJournalStore> {
  const store = await openPostgresStore({ connectionString, schema: 'bare' }); // makes the tables
  await fill(store);
  await store.close();
  const client = new Client({ connectionString });
  await client.connect();
  scope.onClose(() => client.end());
  const hosts = changedHosts();
  const head = await client.query<{ revision: string }>('SELECT revision FROM bare.head');
  let revision = Number(head.rows[0]?.revision);
  return async (commits) => {
    const rows = Array.from({ length: commits }, () => {
      revision += 1;
      const { id, doc } = hosts[revision % hosts.length]!;
      const body = JSON.stringify(doc);
      const changes = encodeChanges([{ kind: 'host', id, body }]);
      return { revision, commitId: `c-${String(revision).padStart(20, '0')}`, id, doc, body, changes };
    });
    await client.query(`BEGIN; UPDATE bare.head SET revision = ${revision}, commit_id = '${rows.at(-1)?.commitId}'`);
    const values = [
      rows.map((row) => row.revision),
      rows.map((row) => row.commitId),
      rows.map((row) => row.doc.changedAtMs),
      rows.map((row) => row.doc.changedBy),
      rows.map(() => 'a benchmark'),
      rows.map((row) => row.changes),
      rows.map(() => 'host'),
      rows.map((row) => row.id),
      rows.map((row) => row.body),
    ];
    await client.query({ name: 'insert', text: INSERT, values });
    await client.query('COMMIT');
  };
}
