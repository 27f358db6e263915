// Leases in PostgreSQL that end with their time alone: their holders are no servers, so no session and no lock says anything about them, and
// any server acquires and renews them. Each call is one statement, on the connections for writing: trouble with it is none of the deciding
// lease's. It must never look at the locks of sessions.
import { escapeIdentifier } from 'pg';
import type { PostgresConnections } from './connections.ts';
import { LEASE_COLUMNS, type PostgresLeaseRow, leaseOf } from './lease-row.ts';
import type { LeaseAnswer, LeaseRequest } from '../store.ts';

type LeaseRenewal = LeaseRequest & { readonly epoch: number };

export class PostgresTimedLeases {
  readonly #connections: PostgresConnections;
  readonly #table: string;

  constructor({ connections, schema }: { readonly connections: PostgresConnections; readonly schema: string }) {
    this.#connections = connections;
    this.#table = `${escapeIdentifier(schema)}.lease`;
  }

  /** The time of the row that is there is compared once its lock is had: of two acquirers at once, the second finds the first. */
  acquire({ name, holder, url, ttlMs }: LeaseRequest): Promise<LeaseAnswer> {
    const text = `INSERT INTO ${this.#table} AS lease (name, holder, url, epoch, expires_at)
      VALUES ($1, $2, $3, 1, clock_timestamp() + $4 * interval '1 millisecond')
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, url = excluded.url, epoch = lease.epoch + 1,
        expires_at = clock_timestamp() + $4 * interval '1 millisecond'
        WHERE lease.expires_at <= clock_timestamp()
      RETURNING ${LEASE_COLUMNS}`;
    return this.#change(name, text, [name, holder, url, ttlMs]);
  }

  renew({ name, holder, url, ttlMs, epoch }: LeaseRenewal): Promise<LeaseAnswer> {
    const text = `UPDATE ${this.#table}
      SET url = $3, expires_at = clock_timestamp() + $4 * interval '1 millisecond'
      WHERE name = $1 AND holder = $2 AND epoch = $5 AND expires_at > clock_timestamp()
      RETURNING ${LEASE_COLUMNS}`;
    return this.#change(name, text, [name, holder, url, ttlMs, epoch]);
  }

  #change(name: string, text: string, values: readonly unknown[]): Promise<LeaseAnswer> {
    return this.#connections.autocommit(async (client) => {
      const changed = (await client.query<PostgresLeaseRow>(text, [...values])).rows[0];
      if (changed !== undefined) return { kind: 'held', lease: leaseOf(changed) };
      const kept = `SELECT ${LEASE_COLUMNS} FROM ${this.#table} WHERE name = $1`;
      const row = (await client.query<PostgresLeaseRow>(kept, [name])).rows[0];
      return { kind: 'refused', lease: row === undefined ? undefined : leaseOf(row) };
    });
  }
}
