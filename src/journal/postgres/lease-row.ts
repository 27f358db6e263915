// A row of the table of leases, and the lease that it says.
import type { Lease } from '../store.ts';

export interface PostgresLeaseRow {
  readonly name: string;
  readonly holder: string;
  readonly url: string;
  readonly epoch: string;
  readonly expires_in_ms: number;
}

export const LEASE_COLUMNS = `name, holder, url, epoch,
  (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 AS expires_in_ms`;

export function leaseOf({ name, holder, url, epoch, expires_in_ms }: PostgresLeaseRow): Lease {
  return { name, holder, url, epoch: Number(epoch), expiresInMs: expires_in_ms };
}
