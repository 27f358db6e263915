// Stores with documents in them, each beside a bare one that begins with the same rows.
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store, TextChange } from '../../src/journal/index.ts';
import { openPostgresStore, openSqliteStore } from '../../src/journal/runtime.ts';
import type { BenchScope } from '../scope.ts';
import { writeSeed } from '../seeded-store.ts';
import { recordedJournal, type Recorded } from './recorded.ts';

/** A file with documents in it, and a copy of it. */
export async function seededFiles(
  scope: BenchScope,
  documents: Iterable<TextChange>,
): Promise<{ readonly ours: string; readonly bare: string }> {
  const folder = await scope.tempDir();
  const [ours, bare] = [join(folder, 'journal.sqlite'), join(folder, 'bare.sqlite')];
  const store = await openSqliteStore({ path: ours });
  await writeSeed(store, documents);
  await store.close();
  await copyFile(ours, bare);
  return { ours, bare };
}

export async function onSqliteFile(scope: BenchScope, path: string): Promise<Recorded> {
  const store = await openSqliteStore({ path });
  scope.onClose(() => store.close());
  return recordedJournal(scope, store);
}

export interface SeededSchema {
  readonly url: string;
  readonly schema: string;
  readonly documents: Iterable<TextChange>;
}

export async function onPostgresSchema(scope: BenchScope, { url, schema, documents }: SeededSchema): Promise<Store> {
  const store = await openPostgresStore({ connectionString: url, schema });
  scope.onClose(() => store.close());
  await writeSeed(store, documents);
  return store;
}
