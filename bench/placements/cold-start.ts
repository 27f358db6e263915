// A server's start with a fleet that is in use: instances, their ports and their claims.
import { join } from 'node:path';
import type { TextChange } from '../../src/journal/index.ts';
import { openSqliteStore } from '../../src/journal/runtime.ts';
import type { Benchmark } from '../benchmark.ts';
import { measureColdStart } from '../cold-start.ts';
import { DATABASE_FILE, writeSeed } from '../seeded-store.ts';
import { placementFleet } from './fleet.ts';
import { runningInstances } from './instances.ts';

const INSTANCES = 100_000;
const HOSTS = 10_000;
/** Three documents an instance: three times as many as in the start with 10^5 hosts. */
const LIMITS = { seconds: 5, megabytes: 800 };

function* fleetInUse(): Generator<TextChange> {
  yield* placementFleet(HOSTS);
  yield* runningInstances(INSTANCES, HOSTS);
}

export const coldStartWithInstances: Benchmark = {
  name: 'cold-start-instances',
  about: `a server process until /readyz is 200, and its peak memory, with ${INSTANCES} instances on ${HOSTS} hosts in SQLite`,
  seconds: 55,
  run: async (scope) => {
    const data = await scope.tempDir();
    const store = await openSqliteStore({ path: join(data, DATABASE_FILE) });
    await writeSeed(store, fleetInUse());
    await store.close();
    return measureColdStart(scope, { name: 'cold-start-instances', data, limits: LIMITS, isGoal: true });
  },
};
