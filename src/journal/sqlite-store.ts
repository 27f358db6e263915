// The store of the embedded default: one SQLite file, write-ahead log, every group flushed before it is acknowledged.
// SQLite is called synchronously: a group costs less than handing it to a thread would. Nothing may await inside a
// transaction, since all calls share one connection.
import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COMMIT_COLUMNS, type CommitRow, commitOf } from './commit-row.ts';
import {
  effectsOf,
  type GroupEffects,
  type GuardedChange,
  guardedChanges,
  resourceConflictOf,
} from './group-effects.ts';
import { HeadWaiters } from './head-waiters.ts';
import { historySql } from './history-sql.ts';
import { readAnswer, type StoredHead } from './read-answer.ts';
import { sqliteFailure } from './sqlite-failure-store.ts';
import { SqliteLeases } from './sqlite-lease-store.ts';
import { openDatabase } from './sqlite-schema-store.ts';
import type {
  Batch,
  Conflict,
  Group,
  HistoryQuery,
  Lease,
  LeaseAnswer,
  LeaseRequest,
  Position,
  ReadAnswer,
  ReadCommit,
  Resource,
  Store,
  Written,
} from './store.ts';
import { encodeChanges, touchedBy } from './stored-changes.ts';

// Large enough that the call per page costs nothing, small enough that a page of large documents fits in memory.
const SNAPSHOT_PAGE = 2000;

export interface SqliteStoreOptions {
  readonly path: string;
  /** The clock of leases. Processes that share the file share the machine, so its wall clock will do. */
  readonly nowMs?: () => number;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  return new SqliteStore(openDatabase(options.path, randomUUID), options.nowMs ?? Date.now);
}

interface HeadRow {
  readonly journal_id: string;
  readonly revision: number;
  readonly commit_id: string | null;
  readonly floor_revision: number;
  readonly floor_commit_id: string | null;
}

/** Undoes a transaction that began to write what does not fit. */
class LookFirst extends Error {}

/** Takes a database that `openDatabase` has prepared; use `openSqliteStore`. */
export class SqliteStore implements Store {
  readonly journalId: string;
  readonly #database: DatabaseSync;
  readonly #nowMs: () => number;
  readonly #sql: ReturnType<typeof prepareAll>;
  readonly #leases: SqliteLeases;
  readonly #waiters = new HeadWaiters();

  constructor(database: DatabaseSync, nowMs: () => number) {
    this.#database = database;
    this.#nowMs = nowMs;
    this.#sql = prepareAll(database);
    this.#leases = new SqliteLeases(database);
    this.journalId = this.#head().journal_id;
  }

  async write(group: Group): Promise<Written> {
    const written = this.#writeGuarded(group) ?? this.#transaction('write', () => this.#writeChecked(group));
    if (written.kind === 'written') this.#waiters.announce(written.revision);
    return written;
  }

  /** Checks each resource while writing it, which saves a look at it before. Undefined, and nothing is written, when that
   * cannot be done or does not work out: what stands in the way is then found by looking. */
  #writeGuarded(group: Group): Written | undefined {
    try {
      return this.#transaction('write', () => {
        const head = this.#head().revision;
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
    const head = this.#head().revision;
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

  async read(after: Position, limit: number): Promise<ReadAnswer> {
    return this.#transaction('read', () => {
      const rows = this.#sql.readFrom.all(after.revision, limit + 1) as unknown as CommitRow[];
      return readAnswer(after, limit, { head: storedHead(this.#head()), rows });
    });
  }

  async snapshot(take: (page: readonly Resource[]) => void): Promise<Position> {
    return this.#transaction('read', () => {
      let page: Resource[] = [];
      for (const row of this.#sql.resources.iterate()) {
        page.push(row as unknown as Resource);
        if (page.length < SNAPSHOT_PAGE) continue;
        take(page);
        page = [];
      }
      if (page.length > 0) take(page);
      const { revision, commit_id } = this.#head();
      return commit_id === null ? { revision } : { revision, commitId: commit_id };
    });
  }

  async history(query: HistoryQuery): Promise<readonly ReadCommit[]> {
    const { text, values } = historySql(query, (nth) => `?${nth}`, '');
    return this.#guarded(() => {
      const rows = this.#database.prepare(text).all(...values) as unknown as CommitRow[];
      return rows.map(commitOf);
    });
  }

  /** Wakes on commits of this process only: another one's are found by the journal's periodic read. */
  changed(revision: number, signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(revision, signal);
  }

  async compact(beforeMs: number, limit: number): Promise<number> {
    return this.#transaction('write', () => {
      const head = this.#head();
      const oldest = this.#sql.readFrom.all(0, limit) as unknown as CommitRow[];
      const kept = oldest.findIndex((row) => Number(row.at_ms) >= beforeMs || row.revision === head.revision);
      const forgotten = kept === -1 ? oldest : oldest.slice(0, kept);
      for (const row of forgotten) this.#forget(row);
      const last = forgotten.at(-1);
      if (last !== undefined) this.#sql.moveFloor.run(last.revision, last.id);
      return forgotten.length;
    });
  }

  #forget(row: CommitRow): void {
    for (const [kind, id] of touchedBy(row.changes)) this.#sql.untouch.run(kind, id, row.revision);
    this.#sql.unlog.run(row.revision);
  }

  async acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.#transaction('write', () => this.#leases.acquire(request, this.#nowMs()));
  }

  async renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    return this.#transaction('write', () => this.#leases.renew(request, this.#nowMs()));
  }

  async releaseLease(name: string, epoch: number): Promise<void> {
    this.#transaction('write', () => this.#leases.release(name, epoch, this.#nowMs()));
  }

  async readLease(name: string): Promise<Lease | undefined> {
    return this.#guarded(() => this.#leases.read(name, this.#nowMs()));
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
    this.#waiters.wakeAll();
  }

  #head(): HeadRow {
    return this.#sql.head.get() as unknown as HeadRow;
  }

  /** The write lock is taken at the beginning: a transaction that read first could find it had read too early. */
  #transaction<T>(kind: 'read' | 'write', work: () => T): T {
    return this.#guarded(() => {
      (kind === 'write' ? this.#sql.beginWrite : this.#sql.beginRead).run();
      try {
        const answer = work();
        this.#sql.commit.run();
        return answer;
      } catch (error) {
        // SQLite has rolled back by itself after some errors, such as a full disk.
        if (this.#database.isTransaction) this.#sql.rollback.run();
        throw error;
      }
    });
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw sqliteFailure(error);
    }
  }
}

function storedHead(row: HeadRow): StoredHead {
  return { revision: row.revision, floorRevision: row.floor_revision, floorCommitId: row.floor_commit_id };
}

function prepareAll(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql);
  return {
    beginWrite: prepare('BEGIN IMMEDIATE'),
    beginRead: prepare('BEGIN'),
    commit: prepare('COMMIT'),
    rollback: prepare('ROLLBACK'),
    head: prepare('SELECT journal_id, revision, commit_id, floor_revision, floor_commit_id FROM head'),
    moveHead: prepare('UPDATE head SET revision = ?, commit_id = ?'),
    moveFloor: prepare('UPDATE head SET floor_revision = ?, floor_commit_id = ?'),
    log: prepare(
      'INSERT INTO commit_log (revision, id, at_ms, by_whom, why, operation, changes) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    unlog: prepare('DELETE FROM commit_log WHERE revision = ?'),
    touch: prepare('INSERT INTO touched (kind, id, revision) VALUES (?, ?, ?)'),
    untouch: prepare('DELETE FROM touched WHERE kind = ? AND id = ? AND revision = ?'),
    upsert: prepare(
      `INSERT INTO resource (kind, id, revision, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET revision = excluded.revision, body = excluded.body`,
    ),
    insert: prepare('INSERT INTO resource (kind, id, revision, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    update: prepare('UPDATE resource SET revision = ?, body = ? WHERE kind = ? AND id = ? AND revision = ?'),
    remove: prepare('DELETE FROM resource WHERE kind = ? AND id = ?'),
    removeAt: prepare('DELETE FROM resource WHERE kind = ? AND id = ? AND revision = ?'),
    revisionOf: prepare('SELECT revision FROM resource WHERE kind = ? AND id = ?'),
    resources: prepare('SELECT kind, id, revision, body FROM resource'),
    readFrom: prepare(`SELECT ${COMMIT_COLUMNS} FROM commit_log c WHERE c.revision >= ? ORDER BY c.revision LIMIT ?`),
  };
}
