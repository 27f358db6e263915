// The journal's benchmarks: both stores, from one caller to more than a group holds up.
import { join } from 'node:path';
import { openPostgresStore, openSqliteStore } from '../../src/journal/runtime.ts';
import type { Benchmark } from '../benchmark.ts';
import { privatePostgres } from '../postgres.ts';
import { barePostgres } from './bare-postgres.ts';
import { bareSqlite } from './bare-sqlite.ts';
import { compare, SECONDS } from './compare.ts';

const CALLERS = [1, 16, 256];

const callersText = (count: number): string => (count === 1 ? 'one caller' : `${count} callers`);

const onSqlite = (callers: number): Benchmark => ({
  name: `journal-sqlite-${callers}`,
  about: `durable commits with ${callersText(callers)}, beside bare node:sqlite writing the same rows in the same batches`,
  seconds: SECONDS,
  run: async (scope) => {
    const folder = await scope.tempDir();
    const store = await openSqliteStore({ path: join(folder, 'journal.sqlite') });
    scope.onClose(() => store.close());
    const bare = await bareSqlite(scope, join(folder, 'bare.sqlite'));
    return compare(scope, { name: `journal-sqlite-${callers}`, callers, store, bare, bareName: 'bare node:sqlite' });
  },
});

const onPostgres = (callers: number): Benchmark => ({
  name: `journal-postgres-${callers}`,
  about: `durable commits with ${callersText(callers)}, beside bare pg writing the same rows in the same batches`,
  seconds: SECONDS + 5, // a cluster of its own
  run: async (scope) => {
    const postgres = await privatePostgres(scope);
    if (postgres.kind === 'missing') return { skipped: postgres.reason };
    const store = await openPostgresStore({ connectionString: postgres.url });
    scope.onClose(() => store.close());
    const bare = await barePostgres(scope, postgres.url);
    return compare(scope, { name: `journal-postgres-${callers}`, callers, store, bare, bareName: 'bare pg' });
  },
});

export const journalBenchmarks: readonly Benchmark[] = [...CALLERS.map(onSqlite), ...CALLERS.map(onPostgres)];
