// Stores with commits, deletions and a compacted history, and all that is in one.
import { join } from 'node:path';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import { batch, drop, mustWrite, put, readAll, snapshotOf } from '../../src/journal/contract/world.ts';
import type { Store } from '../../src/journal/store.ts';
import { newFolder } from '../cli/muster.ts';

/** Commits, deletions, a compacted history. */
export async function fill(store: Store): Promise<void> {
  for (let nth = 0; nth < 20; nth += 1) {
    await mustWrite(
      store,
      batch([put(`h${nth % 7}`, { nth, text: 'ä\u2028"\\' })], { why: 'fill', operation: `op-${nth}` }),
    );
  }
  await mustWrite(store, batch([drop('h3'), put('h9')]));
  await store.compact(Infinity, 5);
}

export async function contentOf(store: Store): Promise<object> {
  const { position, resources } = await snapshotOf(store);
  const commits = await readAll(store, { revision: 5 });
  return { position, resources, commits, touched: await store.history({ kind: 'host', id: 'h2', limit: 9 }) };
}

export async function embedded(): Promise<{ data: string; open: () => Promise<Store> }> {
  const data = newFolder();
  return { data, open: () => openSqliteStore({ path: join(data, 'muster.db') }) };
}

export async function withStore<T>(open: () => Promise<Store>, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open();
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
