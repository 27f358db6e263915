// Durable reservations by callers in the same process, on both stores and with free nodes in three numbers.
import type { Benchmark } from '../../benchmark.ts';
import { barePostgres } from '../../commits/bare-postgres.ts';
import { bareSqlite } from '../../commits/bare-sqlite.ts';
import { recordedJournal, type Recorded } from '../../commits/recorded.ts';
import { onPostgresSchema, onSqliteFile, seededFiles } from '../../commits/stores.ts';
import { privatePostgres } from '../../postgres.ts';
import { compareSizes, compareWithBare, SECONDS } from './compare.ts';
import { reservationFleet } from './fleet.ts';

const SMALL = 1_000;
const LARGE = 100_000;
const FLEETS = [SMALL, 10_000, LARGE];
/** To write a fleet and load it. */
const SEED_SECONDS: Readonly<Record<number, number>> = { [SMALL]: 1, 10_000: 2, [LARGE]: 12 };
const SQLITE_RATE_GOAL = 5000;

const WHAT = 'durable reservations by 256 callers in the process';

const onSqlite = (nodes: number): Benchmark => ({
  name: `baremetal-reserve-sqlite-${nodes}`,
  about: `${WHAT}, ${nodes} free nodes of 20 classes, beside bare node:sqlite writing the same rows in the same batches`,
  seconds: SECONDS + (SEED_SECONDS[nodes] ?? 0),
  run: async (scope) => {
    const files = await seededFiles(scope, reservationFleet({ nodes }));
    const ours = await onSqliteFile(scope, files.ours);
    const bare = bareSqlite(scope, files.bare);
    const name = `baremetal-reserve-sqlite-${nodes}`;
    const perSecondGoal = SQLITE_RATE_GOAL;
    return compareWithBare(scope, { name, ours, bare, bareName: 'bare node:sqlite', nodes, perSecondGoal });
  },
});

const onPostgres = (nodes: number): Benchmark => ({
  name: `baremetal-reserve-postgres-${nodes}`,
  about: `${WHAT}, ${nodes} free nodes of 20 classes, beside bare pg writing the same rows in the same batches`,
  seconds: SECONDS + (SEED_SECONDS[nodes] ?? 0) * 2 + 5, // a cluster of its own
  run: async (scope) => {
    const postgres = await privatePostgres(scope);
    if (postgres.kind === 'missing') return { skipped: postgres.reason };
    const { url } = postgres;
    const store = await onPostgresSchema(scope, { url, schema: 'ours', documents: reservationFleet({ nodes }) });
    const bare = await barePostgres(scope, url, 'ours');
    const ours = await recordedJournal(scope, store);
    const name = `baremetal-reserve-postgres-${nodes}`;
    return compareWithBare(scope, { name, ours, bare, bareName: 'bare pg', nodes });
  },
});

const growthOnSqlite: Benchmark = {
  name: 'baremetal-reserve-sqlite-growth',
  about: `what one reservation costs with ${LARGE} free nodes, beside ${SMALL}, on SQLite`,
  seconds: SECONDS + (SEED_SECONDS[LARGE] ?? 0),
  run: async (scope) => {
    const fleetOf = async (nodes: number): Promise<Recorded> =>
      onSqliteFile(scope, (await seededFiles(scope, reservationFleet({ nodes }))).ours);
    const [large, small] = [await fleetOf(LARGE), await fleetOf(SMALL)];
    return compareSizes(scope, 'baremetal-reserve-sqlite-growth', { large, small, count: SMALL });
  },
};

const growthOnPostgres: Benchmark = {
  name: 'baremetal-reserve-postgres-growth',
  about: `what one reservation costs with ${LARGE} free nodes, beside ${SMALL}, on PostgreSQL`,
  seconds: SECONDS + (SEED_SECONDS[LARGE] ?? 0) * 2 + 5,
  run: async (scope) => {
    const postgres = await privatePostgres(scope);
    if (postgres.kind === 'missing') return { skipped: postgres.reason };
    const fleetOf = async (schema: string, nodes: number): Promise<Recorded> => {
      const seeded = { url: postgres.url, schema, documents: reservationFleet({ nodes }) };
      return recordedJournal(scope, await onPostgresSchema(scope, seeded));
    };
    const [large, small] = [await fleetOf('large', LARGE), await fleetOf('small', SMALL)];
    return compareSizes(scope, 'baremetal-reserve-postgres-growth', { large, small, count: SMALL });
  },
};

export const inProcessReservations: readonly Benchmark[] = [
  ...FLEETS.map(onSqlite),
  growthOnSqlite,
  ...FLEETS.map(onPostgres),
  growthOnPostgres,
];
