// Connections to PostgreSQL and transactions on them. It decides what a lost connection means for a write: before COMMIT, or
// a statement that commits by itself, was sent nothing happened; after that nobody knows.
import { type ClientConfig, Pool, type PoolClient, type QueryResult } from 'pg';
import { commitOutcome, postgresFailure } from './postgres-failure-store.ts';
import { StoreUnavailable, StoreUnusable } from './store.ts';

// One for the decider's writes, the rest for followers, snapshots and history.
const CONNECTIONS_MAX = 6;
const CONNECT_TIMEOUT_MS = 5000;
// A paused process that holds the head row stops every server: PostgreSQL ends its session after this.
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5000;
// Longer than a paused writer can hold the head row. The server gives up first, so that its answer is certain.
const STATEMENT_TIMEOUT_MS = 12_000;
const ANSWER_TIMEOUT_MS = 15_000;

// Every prepared statement finds its rows by key, whatever its values: planning it anew for each group costs more than running
// it. Options in the connection string replace this.
const KEEP_PLANS = '-c plan_cache_mode=force_generic_plan';
// What a statement reads after it waited for the head row must be what is there by then, also without a BEGIN that says so.
const FRESH_SNAPSHOTS = String.raw`-c default_transaction_isolation=read\ committed`;

export function clientConfig(connectionString: string): ClientConfig {
  return {
    connectionString,
    application_name: 'muster',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    options: `${KEEP_PLANS} ${FRESH_SNAPSHOTS}`,
  };
}

/** What a transaction's work ends with: its answer, and whether its changes are to stay. */
export interface Ending<T> {
  readonly end: 'commit' | 'rollback';
  readonly answer: T;
}

export class PostgresConnections {
  readonly #pool: Pool;

  constructor(connectionString: string) {
    this.#pool = new Pool({ ...clientConfig(connectionString), max: CONNECTIONS_MAX });
    // An idle connection was cut: the pool drops it and the next call makes a new one.
    this.#pool.on('error', () => {});
    // The pool stops listening when it drops a connection, but the server may still send it an error: nobody waits for it.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  /** A connection for reading; nothing on it may change anything. */
  async reading<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { client, release } = await this.#checkOut();
    try {
      const answer = await work(client);
      release();
      return answer;
    } catch (error) {
      release(error);
      throw postgresFailure(error);
    }
  }

  /** `work` sends BEGIN itself, together with its first statement: that saves a round trip. */
  async transaction<T>(work: (client: PoolClient) => Promise<Ending<T>>): Promise<T> {
    const { client, release, isLost } = await this.#checkOut();
    try {
      const { end, answer } = await work(client);
      if (isLost()) throw new StoreUnavailable('PostgreSQL: connection lost before COMMIT', { outcome: 'failed' });
      await (end === 'commit' ? commit(client) : client.query('ROLLBACK'));
      release();
      return answer;
    } catch (error) {
      // The session may be in a broken transaction; ending it rolls back without another round trip.
      release(error);
      throw postgresFailure(error);
    }
  }

  /** `work` sends one statement that is a transaction of its own: from then until the server answers nobody knows. */
  async autocommit<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { client, release } = await this.#checkOut();
    try {
      const answer = await work(client);
      release();
      return answer;
    } catch (error) {
      release(error);
      throw postgresFailure(error, commitOutcome(error));
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #checkOut() {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw postgresFailure(error);
    });
    let lost = false;
    const onLost = (): void => {
      lost = true;
    };
    client.on('error', onLost);
    client.on('end', onLost);
    const release = (error?: unknown): void => {
      client.off('error', onLost);
      client.off('end', onLost);
      client.release(error !== undefined || lost);
    };
    return { client, release, isLost: () => lost };
  }
}

async function commit(client: PoolClient): Promise<void> {
  const result = await client.query('COMMIT').catch((error: unknown) => {
    throw postgresFailure(error, commitOutcome(error));
  });
  // PostgreSQL answers COMMIT of a broken transaction with ROLLBACK, not with an error.
  if (result.command !== 'COMMIT') throw new StoreUnavailable('PostgreSQL rolled back', { outcome: 'failed' });
}

/** The answer to the last of several statements that were sent as one text. */
export async function lastOf<Row>(client: PoolClient, text: string): Promise<Row | undefined> {
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

/** Looked at in every commit: a reload of the server's settings reaches open connections too. */
export function demandDurability(settings: DurabilitySettings): void {
  for (const name of ['fsync', 'synchronous_commit'] as const) {
    if (settings[name] !== 'off') continue;
    const price = 'an acknowledged commit could be lost in a crash';
    throw new StoreUnusable('postgres-not-durable', `PostgreSQL runs with ${name} = off: ${price}. Switch it on`);
  }
}
