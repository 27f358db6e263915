// Writes a group in one transaction, on whichever connection and thread. A group that does not fit leaves nothing behind.
import type { DatabaseSync } from 'node:sqlite';
import { chainCommits, type ChainedCommit, type ChainPosition } from '../chain.ts';
import {
  effectsOf,
  type GroupEffects,
  type GuardedChange,
  listGuardedChanges,
  resourceConflictOf,
  totalsDelta,
} from '../group-effects.ts';
import { sha256 } from '../sha256-store.ts';
import { SqliteLeases } from './leases.ts';
import { SqliteTransactions } from './transactions.ts';
import type { CommitBatch, WriteConflict, CommitGroup, WriteAnswer } from '../store.ts';
import { encodeChanges } from '../stored-changes.ts';

/** Undoes a transaction that began to write what does not fit. */
class CheckFirst extends Error {}

export class SqliteGroupWriter {
  readonly #transactions: SqliteTransactions;
  readonly #sql: ReturnType<typeof prepareAll>;
  readonly #leases: SqliteLeases;
  readonly #nowMs: () => number;

  constructor(database: DatabaseSync, nowMs: () => number) {
    this.#transactions = new SqliteTransactions(database);
    this.#sql = prepareAll(database);
    this.#leases = new SqliteLeases(database);
    this.#nowMs = nowMs;
  }

  write(group: CommitGroup): WriteAnswer {
    return this.#writeGuarded(group) ?? this.#transactions.run('write', () => this.#writeChecked(group));
  }

  /** Checks each resource while writing it, which saves a look at it before. Undefined, and nothing is written, when that
   * cannot be done or does not work out: what stands in the way is then found by looking. */
  #writeGuarded(group: CommitGroup): WriteAnswer | undefined {
    try {
      return this.#transactions.run('write', () => {
        const head = this.#head();
        const stale = this.#fenceConflict(group, head);
        if (stale !== undefined) return { kind: 'conflict', conflict: stale };
        const chained = chainCommits(sha256, head, group.batches);
        const guarded = listGuardedChanges(group.batches, head.revision, chained);
        if (guarded === undefined || !guarded.every((change) => this.#guard(change))) throw new CheckFirst();
        group.batches.forEach(({ changes }, at) => {
          for (const { kind, id } of changes) this.#sql.touch.run(kind, id, head.revision + at + 1);
        });
        return this.#log({ batches: group.batches, head, chained, guarded });
      });
    } catch (error) {
      if (error instanceof CheckFirst) return undefined;
      throw error;
    }
  }

  /** Writes one resource if it is as expected. */
  #guard({ kind, id, revision, body, digest, expected }: GuardedChange): boolean {
    if (body === null) return expected !== 'absent' && this.#sql.removeAt.run(kind, id, expected).changes === 1;
    if (expected === 'absent') return this.#sql.insert.run(kind, id, revision, body, digest).changes === 1;
    return this.#sql.update.run(revision, body, digest, kind, id, expected).changes === 1;
  }

  #writeChecked(group: CommitGroup): WriteAnswer {
    const head = this.#head();
    // Checks come before the first change, so a refused group has nothing to roll back.
    const conflict = this.#conflictOf(group, head);
    if (conflict !== undefined) return { kind: 'conflict', conflict };
    const chained = chainCommits(sha256, head, group.batches);
    const effects = effectsOf(group.batches, head.revision, chained);
    const guarded = this.#withStoredRevisions(effects);
    this.#apply(effects);
    return this.#log({ batches: group.batches, head, chained, guarded });
  }

  /** What the group changes, with what is stored of it: the group has no preconditions. */
  #withStoredRevisions({
    upserts,
    deletes,
  }: GroupEffects): readonly Pick<GuardedChange, 'body' | 'revision' | 'expected'>[] {
    return [
      ...upserts.map(({ kind, id, body, revision }) => ({
        body,
        revision,
        expected: this.#storedRevisionOf([kind, id]),
      })),
      ...deletes.map((key) => ({ body: null, revision: 0, expected: this.#storedRevisionOf(key) })),
    ];
  }

  #fenceConflict(group: CommitGroup, { revision: head }: ChainPosition): WriteConflict | undefined {
    const stale = group.fence === undefined ? undefined : this.#leases.conflictWith(group.fence, this.#nowMs());
    if (stale !== undefined) return stale;
    if (group.expectedHead === undefined || group.expectedHead === head) return undefined;
    return { kind: 'head', expected: group.expectedHead, actual: head };
  }

  #conflictOf(group: CommitGroup, head: ChainPosition): WriteConflict | undefined {
    const stale = this.#fenceConflict(group, head);
    if (stale !== undefined) return stale;
    return resourceConflictOf(group.batches, head.revision, (key) => this.#storedRevisionOf(key));
  }

  #storedRevisionOf([kind, id]: readonly [string, string]): number | 'absent' {
    const row = this.#sql.revisionOf.get(kind, id);
    return row === undefined ? 'absent' : Number(row['revision']);
  }

  #log({ batches, head, chained, guarded }: GroupLog): WriteAnswer {
    let { revision } = head;
    for (const [at, { id, atMs, by, why, operation, changes }] of batches.entries()) {
      revision += 1;
      const hash = chained[at]?.hash ?? null;
      this.#sql.log.run(revision, id, atMs, by, why ?? null, operation ?? null, encodeChanges(changes), hash);
    }
    const hash = chained.at(-1)?.hash;
    const last = batches.at(-1);
    if (hash === undefined || last === undefined) return { kind: 'written', revision };
    const { count, revisionSum } = totalsDelta(guarded);
    this.#sql.moveHead.run(revision, last.id, hash, head.revision + 1, count, revisionSum);
    return { kind: 'written', revision, hash };
  }

  #apply({ upserts, deletes, touched }: GroupEffects): void {
    for (const { kind, id, revision } of touched) this.#sql.touch.run(kind, id, revision);
    for (const { kind, id, revision, body, digest } of upserts) {
      this.#sql.upsert.run(kind, id, revision, body, digest);
    }
    for (const [kind, id] of deletes) this.#sql.remove.run(kind, id);
  }

  #head(): ChainPosition {
    return this.#sql.head.get() as unknown as ChainPosition;
  }
}

interface GroupLog {
  readonly batches: readonly CommitBatch[];
  readonly head: ChainPosition;
  readonly chained: readonly ChainedCommit[];
  readonly guarded: readonly Pick<GuardedChange, 'body' | 'revision' | 'expected'>[];
}

function prepareAll(database: DatabaseSync) {
  return {
    head: database.prepare('SELECT revision, hash FROM head'),
    moveHead: database.prepare(
      `UPDATE head SET revision = ?, commit_id = ?, hash = ?, chained_from = coalesce(chained_from, ?),
         documents = documents + ?, revision_sum = revision_sum + ?`,
    ),
    log: database.prepare(
      `INSERT INTO commit_log (revision, id, at_ms, by_whom, why, operation, changes, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    touch: database.prepare('INSERT INTO touched (kind, id, revision) VALUES (?, ?, ?)'),
    upsert: database.prepare(
      `INSERT INTO resource (kind, id, revision, body, digest) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (kind, id)
       DO UPDATE SET revision = excluded.revision, body = excluded.body, digest = excluded.digest`,
    ),
    insert: database.prepare(
      'INSERT INTO resource (kind, id, revision, body, digest) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    update: database.prepare(
      'UPDATE resource SET revision = ?, body = ?, digest = ? WHERE kind = ? AND id = ? AND revision = ?',
    ),
    remove: database.prepare('DELETE FROM resource WHERE kind = ? AND id = ?'),
    removeAt: database.prepare('DELETE FROM resource WHERE kind = ? AND id = ? AND revision = ?'),
    revisionOf: database.prepare('SELECT revision FROM resource WHERE kind = ? AND id = ?'),
  };
}
