// Carries a repair out on a PostgreSQL store, in one transaction that holds the head.
import { escapeIdentifier, type PoolClient } from 'pg';
import { PostgresConnections } from './connections.ts';
import { dumpPostgres } from './reader.ts';
import { postgresHosts } from './hosts-from-url.ts';
import { type Repair, RepairPlanner } from '../repair.ts';
import { sha256 } from '../sha256-store.ts';

/** Answers what became of which document. */
export async function repairPostgres(connectionString: string, schema = 'muster'): Promise<readonly string[]> {
  const connections = new PostgresConnections(postgresHosts(connectionString));
  const s = escapeIdentifier(schema);
  try {
    return await connections.transaction(async (client) => {
      await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED; UPDATE ${s}.head SET revision = revision`);
      const planner = new RepairPlanner(sha256);
      await dumpPostgres(client, s, planner);
      const repair = planner.finish();
      await apply(client, s, repair);
      return { end: 'commit', answer: repair.notes };
    });
  } finally {
    await connections.close();
  }
}

async function apply(client: PoolClient, s: string, { put, drop, floor, head }: Repair): Promise<void> {
  for (const { kind, id, revision, body, digest } of put) {
    await client.query(
      `INSERT INTO ${s}.resource (kind, id, revision, body, digest) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, id)
       DO UPDATE SET revision = excluded.revision, body = excluded.body, digest = excluded.digest`,
      [kind, id, revision, body, digest],
    );
  }
  for (const [kind, id] of drop)
    await client.query(`DELETE FROM ${s}.resource WHERE kind = $1 AND id = $2`, [kind, id]);
  if (floor !== undefined) {
    await client.query(`DELETE FROM ${s}.commit_log WHERE revision <= $1`, [floor.revision]);
    await client.query(`DELETE FROM ${s}.touched WHERE revision <= $1`, [floor.revision]);
    await client.query(`UPDATE ${s}.head SET floor_revision = $1, floor_commit_id = $2, floor_hash = $3`, [
      ...[floor.revision, floor.commitId, floor.hash],
    ]);
  }
  await client.query(
    `UPDATE ${s}.head SET revision = $1, commit_id = $2, hash = $3,
       (documents, revision_sum) = (SELECT count(*), coalesce(sum(revision), 0) FROM ${s}.resource)`,
    [head.revision, head.commitId, head.hash],
  );
}
