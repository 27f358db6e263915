// Writes a group in four round trips whatever its size: lock and move the head, check, write everything, commit. All that
// decides anything is read after the head row is locked, each statement with a snapshot of its own.
import { escapeLiteral, type PoolClient } from 'pg';
import { effectsOf, preconditionKeys, resourceConflictOf, revisionLookup } from './group-effects.ts';
import {
  DURABILITY_COLUMNS,
  type DurabilitySettings,
  demandDurability,
  type Ending,
  lastOf,
} from './postgres-connections-store.ts';
import type { Batch, Conflict, Group, Written } from './store.ts';
import { encodeChanges } from './stored-changes.ts';

export class PostgresGroups {
  readonly #schema: string;
  readonly #channel: string;

  constructor(options: { readonly schema: string; readonly channel: string }) {
    this.#schema = options.schema;
    this.#channel = options.channel;
  }

  /** Begins a transaction and moves the head; answers the new head. `batches` may be empty: then it only locks. */
  async lockHead(client: PoolClient, batches: readonly Batch[] = []): Promise<number> {
    const last = batches.at(-1);
    const commitId = last === undefined ? '' : `, commit_id = ${escapeLiteral(last.id)}`;
    const head = await lastOf<DurabilitySettings & { readonly revision: string }>(
      client,
      `BEGIN ISOLATION LEVEL READ COMMITTED;
       UPDATE ${this.#schema}.head SET revision = revision + ${batches.length}${commitId}
       RETURNING revision, ${DURABILITY_COLUMNS}`,
    );
    if (head === undefined) throw new Error('the head row is gone');
    demandDurability(head);
    return Number(head.revision);
  }

  async write(client: PoolClient, group: Group): Promise<Ending<Written>> {
    const revision = await this.lockHead(client, group.batches);
    const head = revision - group.batches.length;
    const conflict = await this.#conflictOf(client, group, head);
    if (conflict !== undefined) return { end: 'rollback', answer: { kind: 'conflict', conflict } };
    if (group.batches.length > 0) await this.#insert(client, group.batches, head);
    return { end: 'commit', answer: { kind: 'written', revision } };
  }

  async #conflictOf(client: PoolClient, group: Group, head: number): Promise<Conflict | undefined> {
    const keys = preconditionKeys(group.batches);
    const { fence, expectedHead } = group;
    const nothingToAsk = fence === undefined && keys.length === 0;
    const found = nothingToAsk ? undefined : await this.#look(client, fence?.lease ?? null, keys);
    if (fence !== undefined) {
      const expired = found?.lease_expired ?? true;
      const actualEpoch = Number(found?.lease_epoch ?? 0);
      if (actualEpoch !== fence.epoch || expired) return { kind: 'lease', ...fence, actualEpoch, expired };
    }
    if (expectedHead !== undefined && expectedHead !== head)
      return { kind: 'head', expected: expectedHead, actual: head };
    const stored = keys.flatMap(([kind, id], nth) => {
      const revision = found?.revisions[nth];
      return typeof revision === 'string' ? [{ kind, id, revision: Number(revision) }] : [];
    });
    return resourceConflictOf(group.batches, head, revisionLookup(stored));
  }

  async #look(client: PoolClient, lease: string | null, keys: readonly (readonly [string, string])[]) {
    const text = `SELECT held.epoch AS lease_epoch, held.expires_at <= clock_timestamp() AS lease_expired,
        ARRAY(SELECT r.revision
          FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS wanted (kind, id, nth)
          LEFT JOIN ${this.#schema}.resource r ON r.kind = wanted.kind AND r.id = wanted.id
          ORDER BY wanted.nth) AS revisions
      FROM (SELECT) AS one LEFT JOIN ${this.#schema}.lease held ON held.name = $1`;
    const values = [lease, keys.map(([kind]) => kind), keys.map(([, id]) => id)];
    const answer = await client.query<{
      readonly lease_epoch: string | null;
      readonly lease_expired: boolean | null;
      readonly revisions: readonly (string | null)[];
    }>({ name: 'look', text, values });
    return answer.rows[0];
  }

  async #insert(client: PoolClient, batches: readonly Batch[], head: number): Promise<void> {
    const { touched, upserts, deletes } = effectsOf(batches, head);
    const s = this.#schema;
    // Every part runs to its end although only the last one is asked for; no two of them touch the same row.
    const text = `WITH
      logged AS (
        INSERT INTO ${s}.commit_log (revision, id, at_ms, by_whom, why, operation, changes)
        SELECT $1 + nth, id, at_ms, by_whom, why, operation, changes
        FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
          WITH ORDINALITY AS given (id, at_ms, by_whom, why, operation, changes, nth)),
      touched AS (
        INSERT INTO ${s}.touched (kind, id, revision) SELECT * FROM unnest($8::text[], $9::text[], $10::bigint[])),
      kept AS (
        INSERT INTO ${s}.resource (kind, id, revision, body)
        SELECT * FROM unnest($11::text[], $12::text[], $13::bigint[], $14::text[])
        ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body),
      dropped AS (
        DELETE FROM ${s}.resource r USING unnest($15::text[], $16::text[]) AS given (kind, id)
        WHERE r.kind = given.kind AND r.id = given.id)
      SELECT pg_notify($17, $18)`;
    const values = [
      ...[head, batches.map((one) => one.id), batches.map((one) => one.atMs), batches.map((one) => one.by)],
      ...[batches.map((one) => one.why ?? null), batches.map((one) => one.operation ?? null)],
      batches.map((one) => encodeChanges(one.changes)),
      ...[touched.map((one) => one.kind), touched.map((one) => one.id), touched.map((one) => one.revision)],
      ...[upserts.map((one) => one.kind), upserts.map((one) => one.id), upserts.map((one) => one.revision)],
      upserts.map((one) => one.body),
      ...[deletes.map(([kind]) => kind), deletes.map(([, id]) => id)],
      ...[this.#channel, String(head + batches.length)],
    ];
    await client.query({ name: 'insert', text, values });
  }
}
