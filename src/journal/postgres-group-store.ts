// Writes a group in one round trip whatever its size: a function in the database locks and moves the head, checks and
// writes. What earlier batches of the group do to later preconditions is worked out here, before the head is known.
import { DatabaseError, type PoolClient } from 'pg';
import { effectsOf, type GroupPrecondition, groupPreconditions } from './group-effects.ts';
import { DURABILITY_COLUMNS, type DurabilitySettings, demandDurability, lastOf } from './postgres-connections-store.ts';
import { GROUP_REFUSED, NOT_DURABLE, type Refused, writeGroupCall } from './postgres-group-function-store.ts';
import type { Conflict, Group, Written } from './store.ts';
import { encodeChanges } from './stored-changes.ts';

export class PostgresGroups {
  readonly #schema: string;
  readonly #channel: string;
  readonly #call: string;

  constructor(options: { readonly schema: string; readonly channel: string }) {
    this.#schema = options.schema;
    this.#channel = options.channel;
    this.#call = writeGroupCall(options.schema);
  }

  /** Begins a transaction and locks the head; answers where it is. */
  async lockHead(client: PoolClient): Promise<number> {
    const head = await lastOf<DurabilitySettings & { readonly revision: string }>(
      client,
      `BEGIN ISOLATION LEVEL READ COMMITTED;
       UPDATE ${this.#schema}.head SET revision = revision RETURNING revision, ${DURABILITY_COLUMNS}`,
    );
    if (head === undefined) throw new Error('the head row is gone');
    demandDurability(head);
    return Number(head.revision);
  }

  /** One statement, outside a transaction block: it is durable when it is answered. */
  async write(client: PoolClient, group: Group): Promise<Written> {
    const wanted = groupPreconditions(group.batches);
    const values = valuesOf(group, wanted, this.#channel);
    try {
      const answer = await client.query<{ revision: string | null }>({ name: 'write_group', text: this.#call, values });
      const revision = answer.rows[0]?.revision ?? undefined;
      if (revision === undefined) throw new Error('the head row is gone');
      return { kind: 'written', revision: Number(revision) };
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.code === NOT_DURABLE) demandDurability(JSON.parse(error.detail ?? '') as DurabilitySettings);
      if (error.code !== GROUP_REFUSED) throw error;
      return { kind: 'conflict', conflict: conflictOf(JSON.parse(error.detail ?? '') as Refused, group, wanted) };
    }
  }
}

/** In the order of the function's parameters. */
function valuesOf(group: Group, wanted: readonly GroupPrecondition[], channel: string): unknown[] {
  const { batches, fence, expectedHead } = group;
  const { touched, upserts, deletes } = effectsOf(batches, 0);
  return [
    ...[batches.map((one) => one.id), batches.map((one) => one.atMs), batches.map((one) => one.by)],
    ...[batches.map((one) => one.why ?? null), batches.map((one) => one.operation ?? null)],
    batches.map((one) => encodeChanges(one.changes)),
    ...[touched.map((one) => one.kind), touched.map((one) => one.id), touched.map((one) => one.revision)],
    ...[upserts.map((one) => one.kind), upserts.map((one) => one.id), upserts.map((one) => one.revision)],
    upserts.map((one) => one.body),
    ...[deletes.map(([kind]) => kind), deletes.map(([, id]) => id)],
    ...[wanted.map(({ resource }) => resource[0]), wanted.map(({ resource }) => resource[1])],
    wanted.map(({ expected }) => (expected === 'absent' ? null : expected)),
    wanted.map(({ left }) => (left === 'absent' ? 0 : (left ?? null))),
    ...[fence?.lease ?? null, fence?.epoch ?? null, fence?.holder ?? null, expectedHead ?? null, channel],
  ];
}

function conflictOf(refused: Refused, group: Group, wanted: readonly GroupPrecondition[]): Conflict {
  switch (refused.kind) {
    case 'lease': {
      const { lease = '', epoch = 0 } = group.fence ?? {};
      return { kind: 'lease', lease, epoch, actualEpoch: refused.actualEpoch, expired: refused.expired };
    }
    case 'head':
      return { kind: 'head', expected: group.expectedHead ?? 0, actual: refused.actual };
    case 'resource': {
      const { batch, resource, expected } = wanted[refused.nth - 1] as GroupPrecondition;
      return { kind: 'resource', batch, resource, expected, actual: refused.actual ?? 'absent' };
    }
  }
}
