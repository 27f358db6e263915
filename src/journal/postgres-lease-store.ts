// Leases in PostgreSQL. Every change locks the head row first, so that a change of holder and a commit never overlap, and
// reads `clock_timestamp()` after that lock: time spent waiting for it counts.
import type { PoolClient } from 'pg';
import type { PostgresConnections } from './postgres-connections-store.ts';
import type { Lease, LeaseAnswer, LeaseRequest } from './store.ts';

interface LeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly url: string;
  readonly epoch: string;
  readonly expires_in_ms: number;
}

const COLUMNS = `name, holder, url, epoch,
  (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 AS expires_in_ms`;

export class PostgresLeases {
  readonly #connections: PostgresConnections;
  readonly #schema: string;
  readonly #lockHead: (client: PoolClient) => Promise<unknown>;

  constructor(options: {
    readonly connections: PostgresConnections;
    readonly schema: string;
    /** Begins the transaction and locks the head row. */
    readonly lockHead: (client: PoolClient) => Promise<unknown>;
  }) {
    this.#connections = options.connections;
    this.#schema = options.schema;
    this.#lockHead = options.lockHead;
  }

  acquire({ name, holder, url, ttlMs }: LeaseRequest): Promise<LeaseAnswer> {
    const text = `INSERT INTO ${this.#schema}.lease AS lease (name, holder, url, epoch, expires_at)
      VALUES ($1, $2, $3, 1, clock_timestamp() + $4 * interval '1 millisecond')
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, url = excluded.url, epoch = lease.epoch + 1,
        expires_at = excluded.expires_at
      WHERE lease.expires_at <= clock_timestamp()
      RETURNING ${COLUMNS}`;
    return this.#change(name, text, [name, holder, url, ttlMs]);
  }

  renew({ name, holder, url, ttlMs, epoch }: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    const text = `UPDATE ${this.#schema}.lease
      SET url = $3, expires_at = clock_timestamp() + $4 * interval '1 millisecond'
      WHERE name = $1 AND holder = $2 AND epoch = $5 AND expires_at > clock_timestamp()
      RETURNING ${COLUMNS}`;
    return this.#change(name, text, [name, holder, url, ttlMs, epoch]);
  }

  async release(name: string, epoch: number): Promise<void> {
    const text = `UPDATE ${this.#schema}.lease SET expires_at = clock_timestamp() WHERE name = $1 AND epoch = $2
      RETURNING ${COLUMNS}`;
    await this.#change(name, text, [name, epoch]);
  }

  read(name: string): Promise<Lease | undefined> {
    return this.#connections.reading((client) => this.#read(client, name));
  }

  #change(name: string, text: string, values: readonly (string | number)[]): Promise<LeaseAnswer> {
    return this.#connections.transaction<LeaseAnswer>(async (client) => {
      await this.#lockHead(client);
      const changed = await client.query<LeaseRow>(text, [...values]);
      const row = changed.rows[0];
      if (row !== undefined) return { end: 'commit', answer: { kind: 'held', lease: leaseOf(row) } };
      return { end: 'rollback', answer: { kind: 'refused', lease: await this.#read(client, name) } };
    });
  }

  async #read(client: PoolClient, name: string): Promise<Lease | undefined> {
    const text = `SELECT ${COLUMNS} FROM ${this.#schema}.lease WHERE name = $1`;
    const row = (await client.query<LeaseRow>(text, [name])).rows[0];
    return row === undefined ? undefined : leaseOf(row);
  }
}

function leaseOf({ name, holder, url, epoch, expires_in_ms }: LeaseRow): Lease {
  return { name, holder, url, epoch: Number(epoch), expiresInMs: expires_in_ms };
}
