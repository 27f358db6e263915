// Writes a group in three round trips whatever its size: move the head and look, write everything, commit. All that decides
// anything is read after the head row is locked, each statement with a snapshot of its own.
import { escapeLiteral, type PoolClient, type QueryResult } from 'pg';
import { effectsOf, preconditionKeys, resourceConflictOf, revisionLookup } from './group-effects.ts';
import {
  DURABILITY_COLUMNS,
  type DurabilitySettings,
  demandDurability,
  type Ending,
  lastOf,
} from './postgres-connections-store.ts';
import type { Batch, Conflict, Group, ResourceKey, Written } from './store.ts';
import { encodeChanges } from './stored-changes.ts';

export class PostgresGroups {
  readonly #schema: string;
  readonly #channel: string;

  constructor(options: { readonly schema: string; readonly channel: string }) {
    this.#schema = options.schema;
    this.#channel = options.channel;
  }

  /** Begins a transaction and locks the head. */
  async lockHead(client: PoolClient): Promise<number> {
    const head = await lastOf<MovedHead>(client, this.#moveHead([]));
    return movedTo(head);
  }

  /** Several statements sent as one text run one after the other, each with a snapshot of its own: what is looked at here
   * is looked at after the head is locked. */
  async write(client: PoolClient, group: Group): Promise<Ending<Written>> {
    const { batches, fence } = group;
    const keys = preconditionKeys(batches);
    const text = `${this.#moveHead(batches)}; ${this.#look(fence?.lease ?? null, keys)}`;
    const [, moved, looked] = (await client.query(text)) as unknown as QueryResult[];
    const revision = movedTo(moved?.rows[0] as MovedHead | undefined);
    const head = revision - batches.length;
    const conflict = conflictOf(group, head, { keys, found: looked?.rows[0] as Looked | undefined });
    if (conflict !== undefined) return { end: 'rollback', answer: { kind: 'conflict', conflict } };
    if (batches.length > 0) await this.#insert(client, batches, head);
    return { end: 'commit', answer: { kind: 'written', revision } };
  }

  /** Without batches it only locks. */
  #moveHead(batches: readonly Batch[]): string {
    const last = batches.at(-1);
    const commitId = last === undefined ? '' : `, commit_id = ${escapeLiteral(last.id)}`;
    return `BEGIN ISOLATION LEVEL READ COMMITTED;
      UPDATE ${this.#schema}.head SET revision = revision + ${batches.length}${commitId}
      RETURNING revision, ${DURABILITY_COLUMNS}`;
  }

  #look(lease: string | null, keys: readonly ResourceKey[]): string {
    const kinds = textArray(keys.map(([kind]) => kind));
    const ids = textArray(keys.map(([, id]) => id));
    return `SELECT held.epoch AS lease_epoch, held.holder AS lease_holder, held.expires_at <= clock_timestamp() AS lease_expired,
        ARRAY(SELECT r.revision
          FROM unnest(${kinds}, ${ids}) WITH ORDINALITY AS wanted (kind, id, nth)
          LEFT JOIN ${this.#schema}.resource r ON r.kind = wanted.kind AND r.id = wanted.id
          ORDER BY wanted.nth) AS revisions
      FROM (SELECT) AS one
      LEFT JOIN ${this.#schema}.lease held ON held.name = ${lease === null ? 'NULL' : escapeLiteral(lease)}`;
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

interface MovedHead extends DurabilitySettings {
  readonly revision: string;
}

interface Looked {
  readonly lease_epoch: string | null;
  readonly lease_expired: boolean | null;
  readonly revisions: readonly (string | null)[];
}

function movedTo(head: MovedHead | undefined): number {
  if (head === undefined) throw new Error('the head row is gone');
  demandDurability(head);
  return Number(head.revision);
}

function conflictOf(
  { batches, fence, expectedHead }: Group,
  head: number,
  { keys, found }: { readonly keys: readonly ResourceKey[]; readonly found: Looked | undefined },
): Conflict | undefined {
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
  return resourceConflictOf(batches, head, revisionLookup(stored));
}

function textArray(values: readonly string[]): string {
  return `ARRAY[${values.map((value) => escapeLiteral(value)).join(',')}]::text[]`;
}
