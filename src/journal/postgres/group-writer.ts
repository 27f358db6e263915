// Writes a group in one round trip whatever its size: a function in the database locks and moves the head, checks and
// writes. The hash chain is continued here, on the head as this store saw it last; where another server has written since,
// the head is locked and read first.
import { type ClientBase, DatabaseError, type PoolClient } from 'pg';
import { chainCommits, type ChainedCommit, type ChainPosition } from '../chain.ts';
import {
  effectsOf,
  type GroupPrecondition,
  groupPreconditions,
  listGuardedChanges,
  totalsDelta,
} from '../group-effects.ts';
import { writeChainedGroupCall } from './chained-group-function.ts';
import { DURABILITY_COLUMNS, type DurabilitySettings, demandDurability, lastRow } from './connections.ts';
import { GROUP_REFUSED, NOT_DURABLE, type GroupRefusal } from './group-function.ts';
import { sha256 } from '../sha256-store.ts';
import type { WriteConflict, CommitGroup, WriteAnswer } from '../store.ts';
import { encodeChanges } from '../stored-changes.ts';

export class PostgresGroupWriter {
  readonly #schema: string;
  readonly #channel: string;
  readonly #call: string;
  /** The head as this store saw it last. */
  #knownHead: ChainPosition = { revision: 0, hash: null };

  constructor(options: { readonly schema: string; readonly channel: string }) {
    this.#schema = options.schema;
    this.#channel = options.channel;
    this.#call = writeChainedGroupCall(options.schema);
  }

  /** Begins a transaction and locks the head; answers where it is. */
  async lockHead(client: ClientBase): Promise<ChainPosition> {
    const head = await lastRow<DurabilitySettings & { readonly revision: string; readonly hash: string | null }>(
      client,
      `BEGIN ISOLATION LEVEL READ COMMITTED;
       UPDATE ${this.#schema}.head SET revision = revision RETURNING revision, hash, ${DURABILITY_COLUMNS}`,
    );
    if (head === undefined) throw new Error('the head row is gone');
    demandDurability(head);
    return { revision: Number(head.revision), hash: head.hash };
  }

  /** A hint: where it is wrong, the next group is refused and written again after reading the head. */
  noteHead(head: ChainPosition): void {
    if (head.revision > this.#knownHead.revision) this.#knownHead = head;
  }

  /** One statement, outside a transaction block: it is durable when it is answered. Undefined when the head is elsewhere. */
  write(client: PoolClient, group: CommitGroup): Promise<WriteAnswer | undefined> {
    return this.#writeOn(client, group, this.#knownHead);
  }

  /** After `lockHead`, in its transaction. */
  async writeLocked(client: PoolClient, group: CommitGroup, head: ChainPosition): Promise<WriteAnswer> {
    const written = await this.#writeOn(client, group, head);
    if (written === undefined) throw new Error('the head moved although it is locked');
    return written;
  }

  async #writeOn(client: PoolClient, group: CommitGroup, head: ChainPosition): Promise<WriteAnswer | undefined> {
    const wanted = groupPreconditions(group.batches);
    const chained = chainCommits(sha256, head, group.batches);
    const values = functionArguments(group, { wanted, chained, head, channel: this.#channel });
    try {
      const name = 'write_group_chained';
      const answer = await client.query<{ revision: string | null }>({ name, text: this.#call, values });
      const revision = Number(answer.rows[0]?.revision ?? Number.NaN);
      if (Number.isNaN(revision)) throw new Error('the head row is gone');
      const hash = chained.at(-1)?.hash;
      if (hash === undefined) return { kind: 'written', revision };
      this.#knownHead = { revision, hash };
      return { kind: 'written', revision, hash };
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      if (error.code === NOT_DURABLE) demandDurability(JSON.parse(error.detail ?? '') as DurabilitySettings);
      if (error.code !== GROUP_REFUSED) throw error;
      const refused = JSON.parse(error.detail ?? '') as GroupRefusal;
      if (refused.kind === 'chain') return undefined;
      return { kind: 'conflict', conflict: conflictOf(refused, group, wanted) };
    }
  }
}

interface GroupContext {
  readonly wanted: readonly GroupPrecondition[];
  readonly chained: readonly ChainedCommit[];
  readonly head: ChainPosition;
  readonly channel: string;
}

/** In the order of the function's parameters. */
function functionArguments(group: CommitGroup, { wanted, chained, head, channel }: GroupContext): unknown[] {
  const { batches, fence, expectedHead } = group;
  const { touched, upserts, deletes } = effectsOf(batches, 0, chained);
  const guarded = listGuardedChanges(batches, head.revision, chained);
  const totals = guarded === undefined ? undefined : totalsDelta(guarded);
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
    wanted.map(({ revisionInGroup }) => (revisionInGroup === 'absent' ? 0 : (revisionInGroup ?? null))),
    ...[fence?.lease ?? null, fence?.epoch ?? null, fence?.holder ?? null, expectedHead ?? null, channel],
    ...[chained.map((one) => one.hash), upserts.map((one) => one.digest), head.revision, head.hash],
    ...[totals?.count ?? null, totals?.revisionSum ?? null],
  ];
}

function conflictOf(
  refused: Exclude<GroupRefusal, { readonly kind: 'chain' }>,
  group: CommitGroup,
  wanted: readonly GroupPrecondition[],
): WriteConflict {
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
