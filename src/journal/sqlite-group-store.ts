// Writes a group in one transaction, on whichever connection and thread. A group that does not fit leaves nothing behind.
import type { DatabaseSync } from 'node:sqlite';
import {
  effectsOf,
  type GroupEffects,
  type GuardedChange,
  guardedChanges,
  resourceConflictOf,
} from './group-effects.ts';
import { SqliteLeases } from './sqlite-lease-store.ts';
import { SqliteTransactions } from './sqlite-transaction-store.ts';
import type { Batch, Conflict, Group, Written } from './store.ts';
import { encodeChanges } from './stored-changes.ts';

/** Undoes a transaction that began to write what does not fit. */
class LookFirst extends Error {}

export class SqliteGroups {
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

  write(group: Group): Written {
    return this.#writeGuarded(group) ?? this.#transactions.run('write', () => this.#writeChecked(group));
  }

  /** Checks each resource while writing it, which saves a look at it before. Undefined, and nothing is written, when that
   * cannot be done or does not work out: what stands in the way is then found by looking. */
  #writeGuarded(group: Group): Written | undefined {
    try {
      return this.#transactions.run('write', () => {
        const head = this.#head();
        const stale = this.#staleness(group, head);
        if (stale !== undefined) return { kind: 'conflict', conflict: stale };
        const guarded = guardedChanges(group.batches, head);
        if (guarded === undefined || !guarded.every((change) => this.#guard(change))) throw new LookFirst();
        this.#logAll(group.batches, head);
        group.batches.forEach(({ changes }, at) => {
          for (const { kind, id } of changes) this.#sql.touch.run(kind, id, head + at + 1);
        });
        return { kind: 'written', revision: head + group.batches.length };
      });
    } catch (error) {
      if (error instanceof LookFirst) return undefined;
      throw error;
    }
  }

  /** Writes one resource if it is as expected. */
  #guard({ kind, id, revision, body, expected }: GuardedChange): boolean {
    if (body === null) return expected !== 'absent' && this.#sql.removeAt.run(kind, id, expected).changes === 1;
    if (expected === 'absent') return this.#sql.insert.run(kind, id, revision, body).changes === 1;
    return this.#sql.update.run(revision, body, kind, id, expected).changes === 1;
  }

  #writeChecked(group: Group): Written {
    const head = this.#head();
    // Checks come before the first change, so a refused group has nothing to roll back.
    const conflict = this.#conflictOf(group, head);
    if (conflict !== undefined) return { kind: 'conflict', conflict };
    this.#apply(effectsOf(group.batches, head));
    this.#logAll(group.batches, head);
    return { kind: 'written', revision: head + group.batches.length };
  }

  #staleness(group: Group, head: number): Conflict | undefined {
    const stale = group.fence === undefined ? undefined : this.#leases.conflictWith(group.fence, this.#nowMs());
    if (stale !== undefined) return stale;
    if (group.expectedHead === undefined || group.expectedHead === head) return undefined;
    return { kind: 'head', expected: group.expectedHead, actual: head };
  }

  #conflictOf(group: Group, head: number): Conflict | undefined {
    const stale = this.#staleness(group, head);
    if (stale !== undefined) return stale;
    const stored = ([kind, id]: readonly [string, string]): number | 'absent' => {
      const row = this.#sql.revisionOf.get(kind, id);
      return row === undefined ? 'absent' : Number(row['revision']);
    };
    return resourceConflictOf(group.batches, head, stored);
  }

  #logAll(batches: readonly Batch[], head: number): void {
    let revision = head;
    for (const { id, atMs, by, why, operation, changes } of batches) {
      revision += 1;
      this.#sql.log.run(revision, id, atMs, by, why ?? null, operation ?? null, encodeChanges(changes));
    }
    const last = batches.at(-1);
    if (last !== undefined) this.#sql.moveHead.run(revision, last.id);
  }

  #apply({ upserts, deletes, touched }: GroupEffects): void {
    for (const { kind, id, revision } of touched) this.#sql.touch.run(kind, id, revision);
    for (const { kind, id, revision, body } of upserts) this.#sql.upsert.run(kind, id, revision, body);
    for (const [kind, id] of deletes) this.#sql.remove.run(kind, id);
  }

  #head(): number {
    return Number(this.#sql.head.get()?.['revision']);
  }
}

function prepareAll(database: DatabaseSync) {
  return {
    head: database.prepare('SELECT revision FROM head'),
    moveHead: database.prepare('UPDATE head SET revision = ?, commit_id = ?'),
    log: database.prepare(
      'INSERT INTO commit_log (revision, id, at_ms, by_whom, why, operation, changes) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    touch: database.prepare('INSERT INTO touched (kind, id, revision) VALUES (?, ?, ?)'),
    upsert: database.prepare(
      `INSERT INTO resource (kind, id, revision, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body`,
    ),
    insert: database.prepare(
      'INSERT INTO resource (kind, id, revision, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    update: database.prepare('UPDATE resource SET revision = ?, body = ? WHERE kind = ? AND id = ? AND revision = ?'),
    remove: database.prepare('DELETE FROM resource WHERE kind = ? AND id = ?'),
    removeAt: database.prepare('DELETE FROM resource WHERE kind = ? AND id = ? AND revision = ?'),
    revisionOf: database.prepare('SELECT revision FROM resource WHERE kind = ? AND id = ?'),
  };
}
