import type { PostgresStoreOptions } from './postgres-store.ts';
import type { Store } from './store.ts';

export { MemoryDisk, MemoryStore } from './memory-store.ts';
export { describePostgresUrl, parsePostgresUrl } from './postgres-url.ts';
export { RetentionController } from './retention-controller.ts';
export { RETENTION } from './retention.ts';
export { openSqliteStore } from './sqlite-store.ts';

/** Loaded when it is asked for: a server on the embedded store has no use for a PostgreSQL client. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { openPostgresStore: open } = await import('./postgres-store.ts');
  return open(options);
}
