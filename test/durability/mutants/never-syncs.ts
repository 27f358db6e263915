// A planted bug: the right store on a connection that never flushes. A killed process loses nothing by it, a power cut
// does; only the system calls show it.
import { openDatabase } from '../../../src/journal/sqlite/schema.ts';
import { SqliteStore } from '../../../src/journal/sqlite/store.ts';
import type { Store } from '../../../src/journal/store.ts';

export async function openNeverSyncs(path: string): Promise<Store> {
  const database = openDatabase(path, () => 'journal-that-never-syncs');
  database.exec('PRAGMA synchronous = OFF');
  return new SqliteStore(database, Date.now);
}
