// The store of production: several servers on one PostgreSQL. One commit at a time, ordered by the head row that each of
// them updates first: revisions have no gaps, and a reader that sees n+1 sees n.
import { randomUUID } from 'node:crypto';
import { type ClientBase, escapeIdentifier, type PoolClient } from 'pg';
import { COMMIT_COLUMNS, type CommitRow, commitOf } from '../commit-row.ts';
import { HeadWaiters } from '../head-waiters.ts';
import { historySql } from '../history-sql.ts';
import { lastRow, PostgresConnections } from './connections.ts';
import { HEAD_COLUMNS, type PostgresHeadRow, toLoadedHead } from './head-row.ts';
import { PostgresGroupWriter } from './group-writer.ts';
import { PostgresLeaseSession } from './lease-session.ts';
import { PostgresLeases } from './leases.ts';
import { PostgresListener } from './listener.ts';
import { prepareSchema } from './schema.ts';
import {
  gapsSql,
  LoadCheck,
  GAP_SEARCH_MAX,
  tailFloor,
  tailStart,
  type LoadedHead,
  type LogTail,
  type ResourceRow,
} from '../load-check.ts';
import { postgresHosts } from './hosts-from-url.ts';
import { chooseHistoryPage, PAGE_BYTES_MAX, type SizedCommit } from '../page-bytes.ts';
import { positionOf, readAnswer } from '../read-answer.ts';
import { sha256 } from '../sha256-store.ts';
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

// A page of the largest documents (64 KiB) stays below 128 MiB.
const SNAPSHOT_PAGE = 2000;

export interface PostgresStoreOptions {
  /** `postgres://user@a,b,c/database?sslmode=…`: of several hosts the one that accepts writes is used. */
  readonly connectionString: string;
  /** The PostgreSQL schema that holds the tables: several journals can share a database. */
  readonly schema?: string;
}

export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { connectionString, schema = 'muster' } = options;
  const hosts = postgresHosts(connectionString);
  const connections = new PostgresConnections(hosts);
  try {
    const journalId = await prepareSchema(connections, { schema, newJournalId: randomUUID });
    const waiters = new HeadWaiters();
    const session = new PostgresLeaseSession(hosts);
    const onLeaseReleased = (): void => session.wakeWaiters();
    const listener = new PostgresListener({ hosts, channel: channelOf(schema), waiters, onLeaseReleased });
    await listener.start();
    return new PostgresStore({ connections, session, waiters, listener, journalId, schema });
  } catch (error) {
    await connections.close();
    throw error;
  }
}

const channelOf = (schema: string): string => `${schema}_head`;

interface Parts {
  readonly connections: PostgresConnections;
  readonly session: PostgresLeaseSession;
  readonly waiters: HeadWaiters;
  readonly listener: PostgresListener;
  readonly journalId: string;
  readonly schema: string;
}

interface ThroughBytes {
  /** Of the commits after the position, up to and with this one. */
  readonly bytes: string | null;
}

class PostgresStore implements Store {
  readonly journalId: string;
  readonly #connections: PostgresConnections;
  readonly #session: PostgresLeaseSession;
  readonly #waiters: HeadWaiters;
  readonly #listener: PostgresListener;
  readonly #groups: PostgresGroupWriter;
  readonly #leases: PostgresLeases;
  readonly #schema: string;
  #closing: Promise<void> | undefined;

  constructor({ connections, session, waiters, listener, journalId, schema }: Parts) {
    this.journalId = journalId;
    this.#connections = connections;
    this.#session = session;
    this.#waiters = waiters;
    this.#listener = listener;
    this.#schema = escapeIdentifier(schema);
    this.#groups = new PostgresGroupWriter({ schema: this.#schema, channel: channelOf(schema) });
    const lockHead = (client: ClientBase): Promise<unknown> => this.#groups.lockHead(client);
    this.#leases = new PostgresLeases({ connections, session, schema, channel: channelOf(schema), lockHead });
  }

  async write(group: CommitGroup): Promise<WriteAnswer> {
    const written =
      (await this.#connections.autocommit((client) => this.#groups.write(client, group))) ??
      (await this.#writeLocked(group));
    if (written.kind === 'written') this.#waiters.announce(written.revision);
    return written;
  }

  /** Another server has written since this one saw the head. */
  #writeLocked(group: CommitGroup): Promise<WriteAnswer> {
    return this.#connections.transaction<WriteAnswer>(async (client) => {
      const head = await this.#groups.lockHead(client);
      const answer = await this.#groups.writeLocked(client, group, head);
      return { end: answer.kind === 'written' ? 'commit' : 'rollback', answer };
    });
  }

  async read(after: Position, limit: number): Promise<ReadAnswer> {
    // Head and commits in one statement: they are of one moment.
    const text = `SELECT ${HEAD_COLUMNS}, c.*
      FROM ${this.#schema}.head h LEFT JOIN LATERAL (
        SELECT ${COMMIT_COLUMNS}, c.bytes FROM (
          SELECT c.*, octet_length(c.changes) AS own_bytes,
            sum(octet_length(c.changes)) FILTER (WHERE c.revision > $1) OVER (ORDER BY c.revision) AS bytes
          FROM (SELECT * FROM ${this.#schema}.commit_log WHERE revision >= $1 ORDER BY revision LIMIT $2) c) c
        WHERE coalesce(c.bytes - c.own_bytes, 0) < $3) c ON true
      ORDER BY c.revision`;
    const query = { name: 'read', text, values: [after.revision, limit + 1, PAGE_BYTES_MAX] };
    const found = await this.#connections.withReader((client) =>
      client.query<PostgresHeadRow & CommitRow & ThroughBytes>(query),
    );
    const first = found.rows[0];
    if (first === undefined) throw new Error('the head row is gone');
    // Without commits the one row has the head only.
    const rows = first.id === null ? [] : found.rows;
    const isFull = Number(rows.at(-1)?.bytes ?? 0) >= PAGE_BYTES_MAX;
    return readAnswer(after, limit, { head: toLoadedHead(first), rows, isFull }, sha256);
  }

  snapshot(take: (page: readonly StoredResource[]) => void): Promise<SnapshotAnswer> {
    return this.#connections.readTransaction(async (client) => {
      const row = await lastRow<PostgresHeadRow>(
        client,
        `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
         DECLARE resources NO SCROLL CURSOR FOR
           SELECT kind, id, revision::float8 AS revision, body, digest FROM ${this.#schema}.resource;
         SELECT ${HEAD_COLUMNS} FROM ${this.#schema}.head h`,
      );
      if (row === undefined) throw new Error('the head row is gone');
      const check = new LoadCheck(sha256);
      for (;;) {
        const page = await client.query<ResourceRow>(`FETCH ${SNAPSHOT_PAGE} FROM resources`);
        if (page.rows.length > 0) take(page.rows.map((one) => check.take(one)));
        if (page.rows.length < SNAPSHOT_PAGE) break;
      }
      const head = toLoadedHead(row);
      const damage = check.finish(head, await this.#logTail(client, head));
      this.#groups.noteHead({ revision: head.revision, hash: head.hash });
      return { end: 'rollback', answer: { ...positionOf(head), damage } };
    });
  }

  async #logTail(client: PoolClient, head: LoadedHead): Promise<LogTail> {
    const earliest = tailFloor(head);
    const sized = `SELECT revision, octet_length(changes) AS bytes FROM ${this.#schema}.commit_log WHERE revision > $1 ORDER BY revision DESC`;
    const sizes = (await client.query<{ revision: string; bytes: number }>(sized, [earliest])).rows;
    const start = tailStart(
      earliest,
      sizes.map(({ revision, bytes }) => ({ revision: Number(revision), bytes })),
    );
    const text = `SELECT ${COMMIT_COLUMNS} FROM ${this.#schema}.commit_log c WHERE c.revision >= $1 ORDER BY c.revision`;
    const { rows } = await client.query<CommitRow>(text, [start]);
    const own = Number(rows[0]?.revision) === start ? rows[0] : undefined;
    const { revision, floorRevision, floorHash } = head;
    const searched = revision - floorRevision <= GAP_SEARCH_MAX;
    const sql = gapsSql(`(SELECT floor_revision FROM ${this.#schema}.head)`, `${this.#schema}.commit_log`);
    const gaps = searched ? (await client.query<{ gap_from: string; gap_to: string }>(sql)).rows : [];
    return {
      after: { revision: start, hash: start === floorRevision ? floorHash : (own?.hash ?? null) },
      rows: own === undefined ? rows : rows.slice(1),
      gaps: gaps.map(({ gap_from: from, gap_to: to }) => ({ from: Number(from), to: Number(to) })),
    };
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    const { text, values } = historySql(query, (nth) => `$${nth}`, `${this.#schema}.`);
    const read = `SELECT ${COMMIT_COLUMNS} FROM ${this.#schema}.commit_log c
      WHERE c.revision = ANY($1::bigint[]) ORDER BY c.revision DESC`;
    return this.#connections.withReader(async (client) => {
      const found = await client.query<SizedCommit>(text, [...values]);
      const { revisions, next } = chooseHistoryPage(found.rows, query.limit);
      const { rows } = await client.query<CommitRow>(read, [revisions]);
      return { commits: rows.map((row) => commitOf(row, query)), ...(next !== undefined && { next }) };
    });
  }

  waitForChange(revision: number, signal: AbortSignal): Promise<void> {
    return this.#waiters.wait(revision, signal);
  }

  compact(beforeMs: number, limit: number): Promise<number> {
    return this.#connections.transaction(async (client) => {
      const { revision: head } = await this.#groups.lockHead(client);
      const text = `SELECT ${COMMIT_COLUMNS} FROM ${this.#schema}.commit_log c
        WHERE c.revision < $1 ORDER BY c.revision LIMIT $2`;
      const oldest = (await client.query<CommitRow>(text, [head, limit])).rows;
      const kept = oldest.findIndex((row) => Number(row.at_ms) >= beforeMs);
      const forgotten = kept === -1 ? oldest : oldest.slice(0, kept);
      const last = forgotten.at(-1);
      if (last !== undefined) await this.#deleteCommits(client, forgotten, last);
      return { end: last === undefined ? 'rollback' : 'commit', answer: forgotten.length };
    });
  }

  async #deleteCommits(client: PoolClient, rows: readonly CommitRow[], last: CommitRow): Promise<void> {
    const touched = rows.flatMap(({ revision, changes }) =>
      listTouchedResources(changes).map(([kind, id]) => ({ kind, id, revision })),
    );
    const text = `WITH
      untouched AS (
        DELETE FROM ${this.#schema}.touched t USING unnest($1::text[], $2::text[], $3::bigint[]) AS gone (kind, id, revision)
        WHERE t.kind = gone.kind AND t.id = gone.id AND t.revision = gone.revision),
      unlogged AS (DELETE FROM ${this.#schema}.commit_log WHERE revision <= $4)
      UPDATE ${this.#schema}.head SET floor_revision = $4, floor_commit_id = $5, floor_hash = $6`;
    const columns = [touched.map((one) => one.kind), touched.map((one) => one.id), touched.map((one) => one.revision)];
    await client.query(text, [...columns, last.revision, last.id, last.hash]);
  }

  acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.#leases.acquire(request);
  }

  renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    return this.#leases.renew(request);
  }

  releaseLease(name: string, epoch: number): Promise<void> {
    return this.#leases.release(name, epoch);
  }

  readLease(name: string): Promise<Lease | undefined> {
    return this.#leases.read(name);
  }

  readLeases(prefix: string): Promise<readonly Lease[]> {
    return this.#leases.readAll(prefix);
  }

  awaitVacancy(wait: VacancyWait): Promise<void> {
    return this.#leases.awaitVacancy(wait);
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    // First what others wait for.
    await this.#session.close();
    await this.#listener.close();
    await this.#connections.close();
    this.#waiters.wakeAll();
  }
}
