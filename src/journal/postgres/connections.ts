// Connections to PostgreSQL and transactions on them. It decides what a lost connection means for a write: before COMMIT, or
// a statement that commits by itself, was sent nothing happened; after that the outcome is in doubt. Reads and writes have connections
// of their own: a reader must never keep the decider waiting.
import { type ClientBase, type ClientConfig, Pool, type PoolClient, type QueryResult } from 'pg';
import { commitOutcome, suspicionOf, classifyPostgresError } from './failure.ts';
import type { PostgresHosts, PostgresServer } from './hosts.ts';
import { StoreUnavailable, StoreUnusable } from '../store.ts';

// For followers, snapshots and history.
const READ_CONNECTIONS_MAX = 5;
// The decider writes one group at a time; the other one is for compaction.
const WRITE_CONNECTIONS_MAX = 2;
const CHECK_OUT_TIMEOUT_MS = 5000;
// A paused process that holds the head row stops every server: PostgreSQL ends its session after this. A reader holds
// nothing, and may be busy with a page for longer.
const WRITER_IDLE_IN_TRANSACTION_MS = 2000;
const READER_IDLE_IN_TRANSACTION_MS = 5000;
// Longer than a paused writer can hold the head row. The server times out first, so that its answer is certain.
const STATEMENT_TIMEOUT_MS = 12_000;
const ANSWER_TIMEOUT_MS = 15_000;

/** What a transaction's work ends with: its answer, and whether its changes are to stay. */
export interface TransactionResult<T> {
  readonly end: 'commit' | 'rollback';
  readonly answer: T;
}

type Purpose = 'read' | 'write';

interface Pools {
  readonly server: PostgresServer;
  readonly read: Pool;
  readonly write: Pool;
}

/** How the connections of a pool are made, with default limits. */
export function poolConfig(base: ClientConfig, purpose: Purpose): ClientConfig {
  return {
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout:
      purpose === 'write' ? WRITER_IDLE_IN_TRANSACTION_MS : READER_IDLE_IN_TRANSACTION_MS,
    ...base,
    // Also the time to wait for a connection that others use.
    connectionTimeoutMillis: Math.max(CHECK_OUT_TIMEOUT_MS, base.connectionTimeoutMillis ?? 0),
  };
}

export class PostgresConnections {
  readonly #hosts: PostgresHosts;
  /** Those that are in use, by the server that they lead to. */
  readonly #inUse = new Map<PoolClient, PostgresServer>();
  #pools: Pools | undefined;
  #closed = false;

  constructor(hosts: PostgresHosts) {
    this.#hosts = hosts;
    hosts.onMoved((from) => this.#abandon(from));
  }

  /** A connection for reading; nothing on it may change anything. */
  async withReader<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { client, release } = await this.#checkOut('read');
    try {
      const answer = await work(client);
      release();
      return answer;
    } catch (error) {
      release(error);
      throw classifyPostgresError(error);
    }
  }

  /** `work` sends BEGIN itself, together with its first statement: that saves a round trip. */
  transaction<T>(work: (client: PoolClient) => Promise<TransactionResult<T>>): Promise<T> {
    return this.#transaction('write', work);
  }

  /** The same for several reads of one moment, on a connection for reading. */
  readTransaction<T>(work: (client: PoolClient) => Promise<TransactionResult<T>>): Promise<T> {
    return this.#transaction('read', work);
  }

  async #transaction<T>(purpose: Purpose, work: (client: PoolClient) => Promise<TransactionResult<T>>): Promise<T> {
    const { client, release, isLost } = await this.#checkOut(purpose);
    try {
      const { end, answer } = await work(client);
      if (isLost()) throw new StoreUnavailable('PostgreSQL: connection lost before COMMIT', { outcome: 'failed' });
      await (end === 'commit' ? commit(client) : client.query('ROLLBACK'));
      release();
      return answer;
    } catch (error) {
      // The session may be in a broken transaction; ending it rolls back without another round trip.
      release(error);
      throw classifyPostgresError(error);
    }
  }

  /** `work` sends one statement that is a transaction of its own: from then until the server answers the outcome is in doubt. */
  async autocommit<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { client, release } = await this.#checkOut('write');
    try {
      const answer = await work(client);
      release();
      return answer;
    } catch (error) {
      release(error);
      throw classifyPostgresError(error, commitOutcome(error));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const pools = this.#pools;
    this.#pools = undefined;
    await Promise.all([pools?.read.end(), pools?.write.end()]);
  }

  async #checkOut(purpose: Purpose) {
    const { pool, server } = await this.#pool(purpose);
    const client = await pool.connect().catch((error: unknown) => {
      this.#hosts.suspect(server, suspicionOf(error) ?? 'lost');
      throw classifyPostgresError(error);
    });
    let lost = false;
    const onLost = (): void => {
      lost = true;
    };
    client.on('error', onLost);
    client.on('end', onLost);
    this.#inUse.set(client, server);
    const release = (error?: unknown): void => {
      client.off('error', onLost);
      client.off('end', onLost);
      this.#inUse.delete(client);
      const doubt = suspicionOf(error) ?? (lost ? 'lost' : undefined);
      if (doubt !== undefined) this.#hosts.suspect(server, doubt);
      client.release(error !== undefined || lost);
    };
    return { client, release, isLost: () => lost };
  }

  async #pool(purpose: Purpose): Promise<{ readonly pool: Pool; readonly server: PostgresServer }> {
    const server = await this.#hosts.current();
    if (this.#closed) throw new StoreUnavailable('PostgreSQL: the store is closed', { outcome: 'failed' });
    if (this.#pools?.server !== server) this.#pools = this.#open(server);
    return { pool: this.#pools[purpose], server };
  }

  #open(server: PostgresServer): Pools {
    const open = (purpose: Purpose, max: number): Pool => {
      const pool = new Pool({ ...poolConfig(this.#hosts.config(server), purpose), max });
      // An idle connection was cut: the pool drops it and the next call makes a new one.
      pool.on('error', () => this.#hosts.suspect(server, 'lost'));
      // The pool stops listening when it drops a connection, but the server may still send it an error, which is ignored.
      pool.on('connect', (client) => client.on('error', () => {}));
      return pool;
    };
    return { server, read: open('read', READ_CONNECTIONS_MAX), write: open('write', WRITE_CONNECTIONS_MAX) };
  }

  /** Another server is used from now on: pending requests to this one fail at once instead of running into their timeout. */
  #abandon(from: PostgresServer): void {
    for (const [client, server] of this.#inUse) if (server === from) client.end().catch(() => {});
    const pools = this.#pools;
    if (pools?.server !== from) return;
    this.#pools = undefined;
    for (const pool of [pools.read, pools.write]) pool.end().catch(() => {}); // what is left of it ends as it can
  }
}

async function commit(client: PoolClient): Promise<void> {
  const result = await client.query('COMMIT').catch((error: unknown) => {
    throw classifyPostgresError(error, commitOutcome(error));
  });
  // PostgreSQL answers COMMIT of a broken transaction with ROLLBACK, not with an error.
  if (result.command !== 'COMMIT') throw new StoreUnavailable('PostgreSQL rolled back', { outcome: 'failed' });
}

/** The answer to the last of several statements that were sent as one text. */
export async function lastRow<Row>(client: ClientBase, text: string): Promise<Row | undefined> {
  const results = (await client.query(text)) as unknown as QueryResult[];
  return results.at(-1)?.rows[0] as Row | undefined;
}

export interface DurabilitySettings {
  readonly fsync: string;
  readonly synchronous_commit: string;
}

/** Columns for any query whose transaction must be on disk when it is acknowledged. */
export const DURABILITY_COLUMNS = `current_setting('fsync') AS fsync,
  current_setting('synchronous_commit') AS synchronous_commit`;

/** Read in every commit: a reload of the server's settings reaches open connections too. */
export function demandDurability(settings: DurabilitySettings): void {
  for (const name of ['fsync', 'synchronous_commit'] as const) {
    if (settings[name] !== 'off') continue;
    const price = 'an acknowledged commit could be lost in a crash';
    throw new StoreUnusable('postgres-not-durable', `PostgreSQL runs with ${name} = off: ${price}. Switch it on`);
  }
}
