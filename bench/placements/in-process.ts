// Durable placements by callers in the same process, on both stores and on fleets of three sizes.
import type { Benchmark } from '../benchmark.ts';
import { privatePostgres } from '../postgres.ts';
import { barePostgres } from '../commits/bare-postgres.ts';
import { bareSqlite } from '../commits/bare-sqlite.ts';
import { recordedJournal, type Recorded } from '../commits/recorded.ts';
import { onPostgresSchema, onSqliteFile, seededFiles } from '../commits/stores.ts';
import { compareSizes, compareWithBare, SECONDS } from './compare.ts';
import { placementFleet } from './fleet.ts';

const SMALL = 1_000;
const LARGE = 100_000;
const FLEETS = [SMALL, 10_000, LARGE];
/** To write a fleet and load it. */
const SEED_SECONDS: Readonly<Record<number, number>> = { [SMALL]: 1, 10_000: 2, [LARGE]: 12 };

const WHAT = 'durable placements (schedule, claim, port with address) by 256 callers in the process';

const onSqlite = (hosts: number): Benchmark => ({
  name: `placements-sqlite-${hosts}`,
  about: `${WHAT}, ${hosts} hosts in 100 segments, beside bare node:sqlite writing the same rows in the same batches`,
  seconds: SECONDS + (SEED_SECONDS[hosts] ?? 0),
  run: async (scope) => {
    const files = await seededFiles(scope, placementFleet(hosts));
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
    const store = await onPostgresSchema(scope, {
      url: postgres.url,
      schema: 'ours',
      documents: placementFleet(hosts),
    });
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
    const large = await onSqliteFile(scope, (await seededFiles(scope, placementFleet(LARGE))).ours);
    const small = await onSqliteFile(scope, (await seededFiles(scope, placementFleet(SMALL))).ours);
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
    const fleetOf = async (schema: string, hosts: number): Promise<Recorded> => {
      const seeded = { url: postgres.url, schema, documents: placementFleet(hosts) };
      return recordedJournal(scope, await onPostgresSchema(scope, seeded));
    };
    const [large, small] = [await fleetOf('large', LARGE), await fleetOf('small', SMALL)];
    return compareSizes(scope, 'placements-postgres-growth', { large, small });
  },
};

export const inProcessBenchmarks: readonly Benchmark[] = [
  ...FLEETS.map(onSqlite),
  growthOnSqlite,
  ...FLEETS.map(onPostgres),
  growthOnPostgres,
];
