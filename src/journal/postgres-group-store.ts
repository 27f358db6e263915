// Writes a group in three round trips whatever its size: lock and move the head, write everything and look at what was there
// before, commit or roll back. All that decides anything is read after the head row is locked, each statement with a
// snapshot of its own.
import { escapeLiteral, type PoolClient } from 'pg';
import { effectsOf, preconditionKeys, resourceConflictOf, revisionLookup } from './group-effects.ts';
import {
  DURABILITY_COLUMNS,
  type DurabilitySettings,
  demandDurability,
  type Ending,
  lastOf,
} from './postgres-connections-store.ts';
import type { Batch, Conflict, Fence, Group, ResourceKey, Written } from './store.ts';
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
    const keys = preconditionKeys(group.batches);
    const found = await this.#insertAndLook(client, group, { head, keys });
    const conflict = conflictOf(group, { head, keys, found });
    if (conflict !== undefined) return { end: 'rollback', answer: { kind: 'conflict', conflict } };
    return { end: 'commit', answer: { kind: 'written', revision } };
  }

  /** Writes the group, and answers what its conditions need to know of the moment before: every part of a statement sees
   * that moment, also the look at what the others replace. */
  async #insertAndLook(
    client: PoolClient,
    { batches, fence }: Group,
    { head, keys }: { readonly head: number; readonly keys: readonly ResourceKey[] },
  ): Promise<Found | undefined> {
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
      SELECT pg_notify($17, $18), held.epoch AS lease_epoch, held.holder AS lease_holder,
        held.expires_at <= clock_timestamp() AS lease_expired,
        ARRAY(SELECT r.revision
          FROM unnest($20::text[], $21::text[]) WITH ORDINALITY AS wanted (kind, id, nth)
          LEFT JOIN ${s}.resource r ON r.kind = wanted.kind AND r.id = wanted.id
          ORDER BY wanted.nth) AS revisions
      FROM (SELECT) AS one LEFT JOIN ${s}.lease held ON held.name = $19`;
    const values = [
      ...[head, batches.map((one) => one.id), batches.map((one) => one.atMs), batches.map((one) => one.by)],
      ...[batches.map((one) => one.why ?? null), batches.map((one) => one.operation ?? null)],
      batches.map((one) => encodeChanges(one.changes)),
      ...[touched.map((one) => one.kind), touched.map((one) => one.id), touched.map((one) => one.revision)],
      ...[upserts.map((one) => one.kind), upserts.map((one) => one.id), upserts.map((one) => one.revision)],
      upserts.map((one) => one.body),
      ...[deletes.map(([kind]) => kind), deletes.map(([, id]) => id)],
      ...[this.#channel, String(head + batches.length)],
      ...[fence?.lease ?? null, keys.map(([kind]) => kind), keys.map(([, id]) => id)],
    ];
    return (await client.query<Found>({ name: 'insert', text, values })).rows[0];
  }
}

interface Found {
  readonly lease_epoch: string | null;
  readonly lease_holder: string | null;
  readonly lease_expired: boolean | null;
  /** Of the resources that were asked for, in that order. */
  readonly revisions: readonly (string | null)[];
}

interface Looked {
  readonly head: number;
  readonly keys: readonly ResourceKey[];
  readonly found: Found | undefined;
}

function conflictOf({ batches, fence, expectedHead }: Group, { head, keys, found }: Looked): Conflict | undefined {
  const stale = fence === undefined ? undefined : staleFence(fence, found);
  if (stale !== undefined) return stale;
  if (expectedHead !== undefined && expectedHead !== head)
    return { kind: 'head', expected: expectedHead, actual: head };
  const stored = keys.flatMap(([kind, id], nth) => {
    const revision = found?.revisions[nth];
    return typeof revision === 'string' ? [{ kind, id, revision: Number(revision) }] : [];
  });
  return resourceConflictOf(batches, head, revisionLookup(stored));
}

function staleFence({ lease, epoch, holder }: Fence, found: Found | undefined): Conflict | undefined {
  const expired = found?.lease_expired ?? true;
  const actualEpoch = Number(found?.lease_epoch ?? 0);
  const isHolder = holder === undefined || holder === found?.lease_holder;
  if (actualEpoch === epoch && isHolder && !expired) return undefined;
  return { kind: 'lease', lease, epoch, actualEpoch, expired };
}
