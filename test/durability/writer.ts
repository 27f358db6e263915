// A writer to be killed: `writer.ts STORE TARGET NAME [COMMITS]`. It writes groups one after the other and prints the ids of
// a group only once the store has acknowledged it, with a synchronous write: what is printed was acknowledged.
import { writeSync } from 'node:fs';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import type { CommitBatch, Store } from '../../src/journal/store.ts';
import { openAcknowledgesFirst } from './mutants/acknowledges-first.ts';
import { openNeverSyncs } from './mutants/never-syncs.ts';

const STORES: Readonly<Record<string, (target: string) => Promise<Store>>> = {
  sqlite: (path) => openSqliteStore({ path }),
  'sqlite-on-a-thread': (path) => openSqliteStore({ path, alwaysOnThread: true }),
  postgres: (connectionString) => openPostgresStore({ connectionString }),
  'acknowledges-first': openAcknowledgesFirst,
  'never-syncs': openNeverSyncs,
};

const GROUP_MAX = 4;

function batchOf(id: string, nth: number): CommitBatch {
  const body = JSON.stringify({ id, filler: 'x'.repeat(nth % 700) });
  const changes = [0, 1, 2].map((n) => ({
    kind: 'host',
    id: `h${(nth + n) % 11}`,
    body: (nth + n) % 5 === 0 ? null : body,
  }));
  return { id, atMs: Date.now(), by: 'writer', preconditions: [], changes };
}

async function writeContinuously([
  kind = '',
  target = '',
  name = '',
  groups = 'Infinity',
]: readonly string[]): Promise<void> {
  const store = await STORES[kind]?.(target);
  if (store === undefined) throw new Error(`no store ${kind}`);
  for (let nth = 0; nth < Number(groups); nth += 1) {
    const ids = Array.from({ length: 1 + (nth % GROUP_MAX) }, (_, at) => `${name}-${nth}-${at}`);
    await store.write({ batches: ids.map((id, at) => batchOf(id, nth + at)) });
    writeSync(1, `${ids.map((id) => `ack ${id}`).join('\n')}\n`);
  }
  await store.close();
}

await writeContinuously(process.argv.slice(2));
