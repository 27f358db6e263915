// Durable placements by callers in the same process, on both stores and on fleets of three sizes.
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openPostgresStore, openSqliteStore } from '../../src/journal/runtime.ts';
import type { Store } from '../../src/journal/index.ts';
import type { Benchmark } from '../benchmark.ts';
import { privatePostgres } from '../postgres.ts';
import type { Scope } from '../scope.ts';
import { writeSeed } from '../seeded-store.ts';
import { barePostgres } from './bare-postgres.ts';
import { bareSqlite } from './bare-sqlite.ts';
import { compareSizes, compareWithBare, SECONDS } from './compare.ts';
import { placementFleet } from './fleet.ts';
import { recordedJournal, type Recorded } from './load.ts';

const SMALL = 1_000;
const LARGE = 100_000;
const FLEETS = [SMALL, 10_000, LARGE];
/** To write a fleet and load it. */
const SEED_SECONDS: Readonly<Record<number, number>> = { [SMALL]: 1, 10_000: 2, [LARGE]: 12 };

/** A file with a fleet in it, and a copy of it. */
async function seededFiles(scope: Scope, hosts: number): Promise<{ readonly ours: string; readonly bare: string }> {
  const folder = await scope.tempDir();
  const [ours, bare] = [join(folder, 'journal.sqlite'), join(folder, 'bare.sqlite')];
  const store = await openSqliteStore({ path: ours });
  await writeSeed(store, placementFleet(hosts));
  await store.close();
  await copyFile(ours, bare);
  return { ours, bare };
}

async function onSqliteFile(scope: Scope, path: string): Promise<Recorded> {
  const store = await openSqliteStore({ path });
  scope.onClose(() => store.close());
  return recordedJournal(scope, store);
}

async function onPostgresSchema(scope: Scope, url: string, schema: string, hosts: number): Promise<Store> {
  const store = await openPostgresStore({ connectionString: url, schema });
  scope.onClose(() => store.close());
  await writeSeed(store, placementFleet(hosts));
  return store;
}

const WHAT = 'durable placements (schedule, claim, port with address) by 256 callers in the process';

const onSqlite = (hosts: number): Benchmark => ({
  name: `placements-sqlite-${hosts}`,
  about: `${WHAT}, ${hosts} hosts in 100 segments, beside bare node:sqlite writing the same rows in the same batches`,
  seconds: SECONDS + (SEED_SECONDS[hosts] ?? 0),
  run: async (scope) => {
    const files = await seededFiles(scope, hosts);
    const ours = await onSqliteFile(scope, files.ours);
    const bare = bareSqlite(scope, files.bare);
    return compareWithBare(scope, { name: `placements-sqlite-${hosts}`, ours, bare, bareName: 'bare node:sqlite' });
  },
});

const onPostgres = (hosts: number): Benchmark => ({
  name: `placements-postgres-${hosts}`,
  about: `${WHAT}, ${hosts} hosts in 100 segments, beside bare pg writing the same rows in the same batches`,
  seconds: SECONDS + (SEED_SECONDS[hosts] ?? 0) * 2 + 5, // a cluster of its own
  run: async (scope) => {
    const postgres = await privatePostgres(scope);
    if (postgres.kind === 'missing') return { skipped: postgres.reason };
    const store = await onPostgresSchema(scope, postgres.url, 'ours', hosts);
    const bare = await barePostgres(scope, postgres.url, 'ours');
    const ours = await recordedJournal(scope, store);
    return compareWithBare(scope, { name: `placements-postgres-${hosts}`, ours, bare, bareName: 'bare pg' });
  },
});

const growthOnSqlite: Benchmark = {
  name: 'placements-sqlite-growth',
  about: `what one placement costs with ${LARGE} hosts, beside ${SMALL}, on SQLite`,
  seconds: SECONDS + (SEED_SECONDS[LARGE] ?? 0),
  run: async (scope) => {
    const large = await onSqliteFile(scope, (await seededFiles(scope, LARGE)).ours);
    const small = await onSqliteFile(scope, (await seededFiles(scope, SMALL)).ours);
    return compareSizes(scope, 'placements-sqlite-growth', { large, small });
  },
};

const growthOnPostgres: Benchmark = {
  name: 'placements-postgres-growth',
  about: `what one placement costs with ${LARGE} hosts, beside ${SMALL}, on PostgreSQL`,
  seconds: SECONDS + (SEED_SECONDS[LARGE] ?? 0) * 2 + 5,
  run: async (scope) => {
    const postgres = await privatePostgres(scope);
    if (postgres.kind === 'missing') return { skipped: postgres.reason };
    const [large, small] = [
      await recordedJournal(scope, await onPostgresSchema(scope, postgres.url, 'large', LARGE)),
      await recordedJournal(scope, await onPostgresSchema(scope, postgres.url, 'small', SMALL)),
    ];
    return compareSizes(scope, 'placements-postgres-growth', { large, small });
  },
};

export const inProcessBenchmarks: readonly Benchmark[] = [
  ...FLEETS.map(onSqlite),
  growthOnSqlite,
  ...FLEETS.map(onPostgres),
  growthOnPostgres,
];
