import type { StoreReader } from './dump.ts';
import type { PostgresRestoreOptions } from './postgres/restore.ts';
import type { PostgresStoreOptions } from './postgres/store.ts';
import type { RestoreTarget } from './restore.ts';
import type { Store } from './store.ts';

export type { CommitRow } from './commit-row.ts';
export type { DumpHead, DumpSink, FindDocument, StoreReader } from './dump.ts';
export type { ResourceRow } from './load-check.ts';
export type { RestoreTarget } from './restore.ts';
export { sha256 } from './sha256-store.ts';
export { openSqliteReader } from './sqlite/reader.ts';
export { prepareQuickCheck } from './sqlite/quick-check.ts';
export { repairSqlite } from './sqlite/repair.ts';
export { openSqliteRestore } from './sqlite/restore.ts';
export { Verifier } from './verify.ts';

export { MemoryDisk } from './memory-disk.ts';
export { MemoryStore } from './memory-store.ts';
export { describePostgresUrl, parsePostgresUrl } from './postgres/url.ts';
export { ClockWatch, COMMITS_CHECKED_MAX, describeJump, findJumpBefore, type ClockReading } from './clock-watch.ts';
export { RetentionController } from './retention-controller.ts';
export { openSqliteStore } from './sqlite/store.ts';

/** Loaded on demand: a server on the embedded store has no use for a PostgreSQL client. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { openPostgresStore: open } = await import('./postgres/store.ts');
  return open(options);
}

export async function openPostgresReader(connectionString: string): Promise<StoreReader> {
  const { openPostgresReader: open } = await import('./postgres/reader.ts');
  return open({ connectionString });
}

export async function openPostgresRestore(options: PostgresRestoreOptions): Promise<RestoreTarget> {
  const { openPostgresRestore: open } = await import('./postgres/restore.ts');
  return open(options);
}

export async function repairPostgres(connectionString: string): Promise<readonly string[]> {
  const { repairPostgres: repair } = await import('./postgres/repair.ts');
  return repair(connectionString);
}
