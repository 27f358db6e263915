// The store of the embedded default: one SQLite file, write-ahead log, every group flushed before it is acknowledged.
// SQLite is called synchronously. History, commits far back and all documents of a large fleet are read by a thread of their own. A large
// group is written by a thread with a connection of its own, so that the main thread can decide the next one; a small one costs less here
// than handing it over. A write here waits for the thread first.
import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COMMIT_COLUMNS, type CommitRow } from '../commit-row.ts';
import { HeadWaiters } from '../head-waiters.ts';
import { classifySqliteError } from './failure.ts';
import { SqliteGroupWriter } from './group-writer.ts';
import { SqliteLeases } from './leases.ts';
import type { SqliteHeadRow } from './head-row.ts';
import { SqliteReaderThread } from './reader-thread.ts';
import { SqliteCommitQueries } from './commit-queries.ts';
import { openDatabase } from './schema.ts';
import { readSnapshot, type SnapshotPage } from './snapshot.ts';
import { SqliteTransactions } from './transactions.ts';
import { SqliteWriterThread } from './writer-thread.ts';
import type {
  CommitGroup,
  HistoryPage,
  HistoryQuery,
  Lease,
  LeaseAnswer,
  LeaseRequest,
  VacancyWait,
  Position,
  ReadAnswer,
  StoredResource,
  SnapshotAnswer,
  Store,
  WriteAnswer,
} from '../store.ts';
import { listTouchedResources } from '../stored-changes.ts';
import { leaseClockMs } from './lease-clock.ts';

/** Fewer documents are read sooner than a thread has started, and block the event loop only briefly. */
const THREAD_DOCUMENTS_MIN = 2000;

/** Fewer commits are written sooner than a round trip to the thread takes. */
const THREAD_BATCHES_MIN = 32;

/** A few commits of many documents each take as long: they would hold the event loop meanwhile. */
const THREAD_CHANGES_MIN = 200;

/**
 * So many groups from a large one on go to the thread, however small: many requests are waiting, and the next ones are decided meanwhile.
 * Between two large ones of 64 clients there are now and then more than three small ones.
 */
const THREAD_GROUPS = 16;

export interface SqliteStoreOptions {
  readonly path: string;
  /** The clock of leases. */
  readonly nowMs?: () => number;
  /** Has every group written by the thread, and the first one wait for its start: for tests of the thread. */
  readonly alwaysOnThread?: boolean;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { path, nowMs = leaseClockMs, alwaysOnThread = false } = options;
  const database = openDatabase(path, randomUUID);
  try {
    return new SqliteStore(database, nowMs, {
      writer: new SqliteWriterThread(path, nowMs),
      reader: new SqliteReaderThread(path),
      always: alwaysOnThread,
    });
  } catch (error) {
    database.close();
    throw classifySqliteError(error);
  }
}

interface Threads {
  readonly writer: SqliteWriterThread;
  readonly reader: SqliteReaderThread;
  readonly always: boolean;
}

function isLargeGroup(batches: CommitGroup['batches']): boolean {
  if (batches.length >= THREAD_BATCHES_MIN) return true;
  let count = 0;
  for (const { changes } of batches) count += changes.length;
  return count >= THREAD_CHANGES_MIN;
}

/** Takes a database that `openDatabase` has prepared; use `openSqliteStore`. */
export class SqliteStore implements Store {
  readonly journalId: string;
  readonly #database: DatabaseSync;
  readonly #nowMs: () => number;
  readonly #sql: ReturnType<typeof prepareAll>;
  readonly #transactions: SqliteTransactions;
  readonly #groups: SqliteGroupWriter;
  readonly #leases: SqliteLeases;
  readonly #waiters = new HeadWaiters();
  readonly #queries: SqliteCommitQueries;
  readonly #reader: SqliteReaderThread | undefined;
  readonly #writer: SqliteWriterThread | undefined;
  readonly #alwaysOnThread: boolean;
  #isClosing = false;
  /** How many groups have come since the last large one. */
  #sinceLarge = Infinity;

  /** Without threads everything is written and read here. */
  constructor(database: DatabaseSync, nowMs: () => number, threads?: Threads) {
    this.#database = database;
    this.#nowMs = nowMs;
    this.#sql = prepareAll(database);
    this.#transactions = new SqliteTransactions(database);
    this.#groups = new SqliteGroupWriter(database, nowMs);
    this.#leases = new SqliteLeases(database);
    this.#queries = new SqliteCommitQueries(database);
    this.#reader = threads?.reader;
    this.#writer = threads?.writer;
    this.#alwaysOnThread = threads?.always ?? false;
    this.journalId = this.#head().journal_id;
  }

  async write(group: CommitGroup): Promise<WriteAnswer> {
    while (this.#writer?.isBusy === true) await this.#writer.idle();
    const written = await this.#writeNow(group);
    if (written.kind === 'written') this.#waiters.announce(written.revision);
    return written;
  }

  async #writeNow(group: CommitGroup): Promise<WriteAnswer> {
    const writer = this.#writerFor(group);
    if (writer === undefined) return this.#translateErrors(() => this.#groups.write(group));
    return this.#translateAsync(writer.write(group));
  }

  #writerFor({ batches }: CommitGroup): SqliteWriterThread | undefined {
    const writer = this.#writer;
    if (writer === undefined || this.#isClosing) return undefined;
    this.#sinceLarge = isLargeGroup(batches) ? 0 : this.#sinceLarge + 1;
    return this.#alwaysOnThread || (this.#sinceLarge < THREAD_GROUPS && writer.prepare()) ? writer : undefined;
  }

  async read(after: Position, limit: number): Promise<ReadAnswer> {
    const reader = this.#reader;
    // At the head there is nothing to read but the head: that is what the periodic poll finds nearly always.
    if (reader === undefined || this.#isClosing || this.#isAtHead(after))
      return this.#translateErrors(() => this.#queries.read(after, limit));
    return this.#translateAsync(reader.read(after, limit));
  }

  /** Few documents here, in one piece; many by the thread, so that the event loop is not blocked and they are checked beside it. */
  async snapshot(take: (page: readonly StoredResource[]) => void): Promise<SnapshotAnswer> {
    const takePage = (page: SnapshotPage): void => take(resourcesOf(page));
    const reader = this.#snapshotReader();
    if (reader !== undefined) return this.#translateAsync(reader.snapshot(takePage));
    return this.#runRead(() => {
      const pages = readSnapshot(this.#database);
      for (;;) {
        const { done, value } = pages.next();
        if (done === true) return value;
        takePage(value);
      }
    });
  }

  #snapshotReader(): SqliteReaderThread | undefined {
    if (this.#isClosing) return undefined;
    const isLarge = this.#alwaysOnThread || this.#translateErrors(() => this.#head().documents) >= THREAD_DOCUMENTS_MIN;
    return isLarge ? this.#reader : undefined;
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    const reader = this.#reader;
    if (reader === undefined || this.#isClosing) return this.#translateErrors(() => this.#queries.history(query));
    return this.#translateAsync(reader.history(query));
  }

  /** Wakes on commits of this process only: another one's are found by the journal's periodic read. */
  waitForChange(revision: number, signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(revision, signal);
  }

  async compact(beforeMs: number, limit: number): Promise<number> {
    return this.#runWrite(() => {
      const head = this.#head();
      const oldest = this.#sql.readFrom.all(0, limit) as unknown as CommitRow[];
      const kept = oldest.findIndex((row) => Number(row.at_ms) >= beforeMs || row.revision === head.revision);
      const forgotten = kept === -1 ? oldest : oldest.slice(0, kept);
      for (const row of forgotten) this.#deleteCommit(row);
      const last = forgotten.at(-1);
      if (last !== undefined) this.#sql.moveFloor.run(last.revision, last.id, last.hash);
      return forgotten.length;
    });
  }

  #deleteCommit(row: CommitRow): void {
    for (const [kind, id] of listTouchedResources(row.changes)) this.#sql.untouch.run(kind, id, row.revision);
    this.#sql.unlog.run(row.revision);
  }

  async acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.#runWrite(() => this.#leases.acquire(request, this.#nowMs()));
  }

  async renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    return this.#runWrite(() => this.#leases.renew(request, this.#nowMs()));
  }

  async releaseLease(name: string, epoch: number): Promise<void> {
    await this.#runWrite(() => this.#leases.release(name, epoch, this.#nowMs()));
  }

  /** One process has the file: a server's lease that a process left which died is released at the start. */
  awaitVacancy({ signal }: VacancyWait): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async readLease(name: string): Promise<Lease | undefined> {
    return this.#translateErrors(() => this.#leases.read(name, this.#nowMs()));
  }

  async readLeases(prefix: string): Promise<readonly Lease[]> {
    return this.#runWrite(() => this.#leases.readAll(prefix, this.#nowMs()));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([this.#writer?.close(), this.#reader?.close()]);
    if (this.#database.isOpen) this.#database.close();
    this.#waiters.wakeAll();
  }

  #head(): SqliteHeadRow {
    return this.#sql.head.get() as unknown as SqliteHeadRow;
  }

  #isAtHead({ revision }: Position): boolean {
    return this.#translateErrors(() => this.#head().revision) === revision;
  }

  #runRead<T>(work: () => T): T {
    return this.#translateErrors(() => this.#transactions.run('read', work));
  }

  /** Not while the thread writes: waiting for its lock would hold up everything else. */
  async #runWrite<T>(work: () => T): Promise<T> {
    while (this.#writer?.isBusy === true) await this.#writer.idle();
    return this.#translateErrors(() => this.#transactions.run('write', work));
  }

  async #translateAsync<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw classifySqliteError(error);
    }
  }

  #translateErrors<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw classifySqliteError(error);
    }
  }
}

function resourcesOf({ kind, ids, revisions, bodies }: SnapshotPage): readonly StoredResource[] {
  return ids.map((id, nth) => ({ kind, id, revision: revisions[nth] as number, body: bodies[nth] as string }));
}

function prepareAll(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql);
  return {
    head: prepare('SELECT * FROM head'),
    moveFloor: prepare('UPDATE head SET floor_revision = ?, floor_commit_id = ?, floor_hash = ?'),
    unlog: prepare('DELETE FROM commit_log WHERE revision = ?'),
    untouch: prepare('DELETE FROM touched WHERE kind = ? AND id = ? AND revision = ?'),
    readFrom: prepare(`SELECT ${COMMIT_COLUMNS} FROM commit_log c WHERE c.revision >= ? ORDER BY c.revision LIMIT ?`),
  };
}
