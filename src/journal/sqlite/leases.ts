// Leases in SQLite, on the clock that the store was opened with. Each call runs inside a transaction of the caller. One process has the
// file: no lease ends with a session, whatever its requests say.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { WriteConflict, Fence, Lease, LeaseAnswer, LeaseRequest } from '../store.ts';

interface SqliteLeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly url: string;
  readonly epoch: number;
  readonly expires_at_ms: number;
}

/** No lease of an earlier process lasts longer. */
const LEFT_OVER_MAX_MS = 60_000;

export class SqliteLeases {
  readonly #givenHere = new Set<string>();
  readonly #select: StatementSync;
  readonly #selectByPrefix: StatementSync;
  readonly #keep: StatementSync;
  readonly #expire: StatementSync;

  constructor(database: DatabaseSync) {
    const select = 'SELECT name, holder, url, epoch, expires_at_ms FROM lease';
    this.#select = database.prepare(`${select} WHERE name = ?`);
    this.#selectByPrefix = database.prepare(`${select} WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name`);
    this.#keep = database.prepare(
      `INSERT INTO lease (name, holder, url, epoch, expires_at_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, url = excluded.url, epoch = excluded.epoch,
         expires_at_ms = excluded.expires_at_ms`,
    );
    this.#expire = database.prepare('UPDATE lease SET expires_at_ms = ? WHERE name = ? AND epoch = ?');
  }

  acquire(request: LeaseRequest, nowMs: number): LeaseAnswer {
    const row = this.#row(request.name);
    if (row === undefined || row.expires_at_ms <= nowMs) return this.#hold(request, (row?.epoch ?? 0) + 1, nowMs);
    return { kind: 'refused', lease: leaseOf(this.#shorten(row, nowMs), nowMs) };
  }

  renew(request: LeaseRequest & { readonly epoch: number }, nowMs: number): LeaseAnswer {
    const row = this.#row(request.name);
    if (row === undefined) return { kind: 'refused', lease: undefined };
    const mine = row.epoch === request.epoch && row.holder === request.holder && row.expires_at_ms > nowMs;
    return mine ? this.#hold(request, row.epoch, nowMs) : { kind: 'refused', lease: leaseOf(row, nowMs) };
  }

  release(name: string, epoch: number, nowMs: number): void {
    this.#expire.run(nowMs, name, epoch);
  }

  read(name: string, nowMs: number): Lease | undefined {
    const row = this.#row(name);
    return row === undefined ? undefined : leaseOf(row, nowMs);
  }

  readAll(prefix: string, nowMs: number): Lease[] {
    const rows = this.#selectByPrefix.all(prefix) as unknown as SqliteLeaseRow[];
    return rows.map((row) => leaseOf(this.#shorten(row, nowMs), nowMs));
  }

  conflictWith(fence: Fence, nowMs: number): WriteConflict | undefined {
    const row = this.#row(fence.lease);
    const expired = row === undefined || row.expires_at_ms <= nowMs;
    if (row?.epoch === fence.epoch && row.holder === (fence.holder ?? row.holder) && !expired) return undefined;
    return { kind: 'lease', lease: fence.lease, epoch: fence.epoch, actualEpoch: row?.epoch ?? 0, expired };
  }

  /** The clock began anew with this process: what an earlier one wrote may be of a wall clock that was ahead. */
  #shorten(row: SqliteLeaseRow, nowMs: number): SqliteLeaseRow {
    const latestMs = nowMs + LEFT_OVER_MAX_MS;
    if (row.expires_at_ms <= latestMs || this.#givenHere.has(row.name)) return row;
    this.#expire.run(latestMs, row.name, row.epoch);
    return { ...row, expires_at_ms: latestMs };
  }

  #hold({ name, holder, url, ttlMs }: LeaseRequest, epoch: number, nowMs: number): LeaseAnswer {
    this.#givenHere.add(name);
    this.#keep.run(name, holder, url, epoch, Math.ceil(nowMs + ttlMs));
    return { kind: 'held', lease: { name, holder, url, epoch, expiresInMs: ttlMs } };
  }

  #row(name: string): SqliteLeaseRow | undefined {
    return this.#select.get(name) as SqliteLeaseRow | undefined;
  }
}

function leaseOf({ name, holder, url, epoch, expires_at_ms }: SqliteLeaseRow, nowMs: number): Lease {
  return { name, holder, url, epoch, expiresInMs: expires_at_ms - nowMs };
}
