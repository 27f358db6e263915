// Leases of servers in PostgreSQL. A change of holder locks the head row first, so that it never overlaps with a commit, and reads
// `clock_timestamp()` after that lock: time spent waiting for it counts. A renewal changes no holder and waits for no lock.
// It must never take a lease under the epoch that it has. Leases that end with their time alone are in `timed-leases.ts`.
import { setTimeout } from 'node:timers/promises';
import { type ClientBase, escapeIdentifier } from 'pg';
import type { PostgresConnections } from './connections.ts';
import { LEASE_COLUMNS, type PostgresLeaseRow, leaseOf } from './lease-row.ts';
import type { PostgresLeaseSession } from './lease-session.ts';
import { LEASE_RELEASED } from './listener.ts';
import { PostgresTimedLeases } from './timed-leases.ts';
import type { Lease, LeaseAnswer, LeaseRequest, VacancyWait } from '../store.ts';

// A waiting statement would keep old rows from being cleaned up for as long as it waits, which is for days; so followers poll.
const VACANCY_POLL_MS = 200;
const VACANCY_RETRY_MS = 500;

interface LeasesOptions {
  readonly connections: PostgresConnections;
  readonly session: PostgresLeaseSession;
  /** The channel on which a released lease is announced. */
  readonly channel: string;
  /** As it is, not quoted. */
  readonly schema: string;
  /** Begins the transaction and locks the head row. */
  readonly lockHead: (client: ClientBase) => Promise<unknown>;
}

export class PostgresLeases {
  readonly #options: LeasesOptions;
  readonly #table: string;
  readonly #timed: PostgresTimedLeases;

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#timed = new PostgresTimedLeases(options);
    this.#table = `${escapeIdentifier(options.schema)}.lease`;
  }

  /** What the lock of a tenure is derived from, before the epoch. */
  #lockName(name: string): string {
    return `muster lease ${this.#options.schema} ${name} `;
  }

  acquire(request: LeaseRequest): Promise<LeaseAnswer> {
    const { name, endsWith } = request;
    if (endsWith === 'time') return this.#timed.acquire(request);
    return this.#options.session.run(async (client, tenures) => {
      // Followers poll all the time: the head row is locked only when there is something to be had.
      if (await this.#isVacant(client, name)) {
        const lease = await this.#acquire(client, request, tenures);
        if (lease !== undefined) return { kind: 'held', lease };
      }
      return { kind: 'refused', lease: await this.#read(client, name) };
    });
  }

  async #acquire(client: ClientBase, request: LeaseRequest, tenures: Map<string, number>): Promise<Lease | undefined> {
    const before = tenures.get(request.name);
    await this.#options.lockHead(client);
    if (!(await this.#isFree(client, request.name, before))) {
      await client.query('ROLLBACK');
      return undefined;
    }
    const { lease, locked } = await this.#take(client, request);
    await client.query('COMMIT');
    if (before !== undefined) await this.#endTenure(client, tenures, { name: request.name, epoch: before });
    if (locked) tenures.set(request.name, lease.epoch);
    return lease;
  }

  /**
   * It ran out, or its holder's session has ended: the lock of its tenure is free. One's own lock says nothing. Whoever
   * looks shares the lock, so that those who look do not get in each other's way.
   */
  async #isFree(client: ClientBase, name: string, ownEpoch: number | undefined): Promise<boolean> {
    const text = `SELECT expires_at <= clock_timestamp() AS expired,
        epoch IS DISTINCT FROM $3::bigint AND pg_try_advisory_xact_lock_shared(hashtextextended($2::text || epoch::text, 0)) AS abandoned
      FROM ${this.#table} WHERE name = $1 FOR UPDATE`;
    const values = [name, this.#lockName(name), ownEpoch ?? null];
    const row = (await client.query<{ expired: boolean; abandoned: boolean }>(text, values)).rows[0];
    return row === undefined || row.expired || row.abandoned;
  }

  /** The lock of the new tenure is taken before the tenure is visible. */
  async #take(client: ClientBase, { name, holder, url, ttlMs }: LeaseRequest) {
    const text = `INSERT INTO ${this.#table} AS lease (name, holder, url, epoch, expires_at)
      VALUES ($1, $2, $3, 1, clock_timestamp() + $4 * interval '1 millisecond')
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, url = excluded.url, epoch = lease.epoch + 1,
        expires_at = excluded.expires_at
      RETURNING ${LEASE_COLUMNS}, pg_try_advisory_lock(hashtextextended($5::text || epoch::text, 0)) AS locked`;
    const row = (
      await client.query<PostgresLeaseRow & { locked: boolean }>(text, [name, holder, url, ttlMs, this.#lockName(name)])
    ).rows[0];
    if (row === undefined) throw new Error('the lease was not written');
    return { lease: leaseOf(row), locked: row.locked };
  }

  renew(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    if (request.endsWith === 'time') return this.#timed.renew(request);
    const { name, holder, url, ttlMs, epoch } = request;
    return this.#options.session.run(async (client, tenures) => {
      const locked = tenures.get(name) === epoch;
      // A session that is new takes the lock of the tenure again, unless another server is about to take the lease.
      const text = `UPDATE ${this.#table}
        SET url = $3, expires_at = clock_timestamp() + $4 * interval '1 millisecond'
        WHERE name = $1 AND holder = $2 AND epoch = $5 AND expires_at > clock_timestamp()
        RETURNING ${LEASE_COLUMNS},
          CASE WHEN $7::boolean THEN true ELSE pg_try_advisory_lock(hashtextextended($6::text || epoch::text, 0)) END AS locked`;
      const values = [name, holder, url, ttlMs, epoch, this.#lockName(name), locked];
      const row = (await client.query<PostgresLeaseRow & { locked: boolean }>(text, values)).rows[0];
      if (row === undefined) {
        if (locked) await this.#endTenure(client, tenures, { name, epoch });
        return { kind: 'refused', lease: await this.#read(client, name) };
      }
      if (row.locked) tenures.set(name, epoch);
      return { kind: 'held', lease: leaseOf(row) };
    });
  }

  async release(name: string, epoch: number): Promise<void> {
    await this.#options.session.run(async (client, tenures) => {
      const text = `UPDATE ${this.#table} SET expires_at = clock_timestamp() WHERE name = $1 AND epoch = $2
        RETURNING pg_notify($3, $4)`;
      await client.query(text, [name, epoch, this.#options.channel, LEASE_RELEASED]);
      if (tenures.get(name) === epoch) await this.#endTenure(client, tenures, { name, epoch });
    });
  }

  read(name: string): Promise<Lease | undefined> {
    return this.#options.connections.withReader((client) => this.#read(client, name));
  }

  readAll(prefix: string): Promise<readonly Lease[]> {
    const text = `SELECT ${LEASE_COLUMNS} FROM ${this.#table} WHERE starts_with(name, $1) ORDER BY name COLLATE "C"`;
    return this.#options.connections.withReader(async (client) =>
      (await client.query<PostgresLeaseRow>(text, [prefix])).rows.map(leaseOf),
    );
  }

  /** The holder waits for the end of its own session, other servers for that of the holder's. */
  async awaitVacancy({ name, signal }: VacancyWait): Promise<void> {
    const { session } = this.#options;
    while (!signal.aborted) {
      if (session.hasLock(name)) return session.waitForEnd(signal);
      const looking = session.run((client) => this.#isVacant(client, name));
      const vacant = await looking.catch(() => undefined); // the request for the lease gets the error
      if (vacant === true) return;
      await this.#pause(vacant === undefined ? VACANCY_RETRY_MS : VACANCY_POLL_MS, signal);
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const early = AbortSignal.any([signal, this.#options.session.wakeSignal]);
    await setTimeout(ms, undefined, { signal: early, ref: false }).catch(() => {}); // woken: whoever waits looks again
  }

  /** Locks no row, and gives the lock back with the statement: a server that stops here blocks no other. */
  async #isVacant(client: ClientBase, name: string): Promise<boolean> {
    const text = `SELECT expires_at <= clock_timestamp()
        OR pg_try_advisory_xact_lock_shared(hashtextextended($2::text || epoch::text, 0)) AS vacant
      FROM ${this.#table} WHERE name = $1`;
    const query = { name: 'vacancy', text, values: [name, this.#lockName(name)] };
    return (await client.query<{ vacant: boolean }>(query)).rows[0]?.vacant ?? true;
  }

  async #endTenure(
    client: ClientBase,
    tenures: Map<string, number>,
    lease: Pick<Lease, 'name' | 'epoch'>,
  ): Promise<void> {
    tenures.delete(lease.name);
    await this.#unlock(client, lease.name, lease.epoch);
  }

  async #unlock(client: ClientBase, name: string, epoch: number): Promise<void> {
    await client.query('SELECT pg_advisory_unlock(hashtextextended($1::text || $2::text, 0))', [
      this.#lockName(name),
      epoch,
    ]);
  }

  async #read(client: ClientBase, name: string): Promise<Lease | undefined> {
    const text = `SELECT ${LEASE_COLUMNS} FROM ${this.#table} WHERE name = $1`;
    const row = (await client.query<PostgresLeaseRow>(text, [name])).rows[0];
    return row === undefined ? undefined : leaseOf(row);
  }
}
