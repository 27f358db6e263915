// A snapshot's position and its resources are of one moment, also when a commit comes in between the two.
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { batch, mustWrite, put, snapshotOf } from '../../src/journal/contract/world.ts';
import { freshDatabase, openForTest, postgresSuite, sql } from './suite.ts';

postgresSuite('postgres-snapshot', (postgres) => {
  test('a-commit-in-the-middle-of-a-snapshot-is-not-half-in-it', async () => {
    const url = await freshDatabase(postgres.url);
    const store = await openForTest(url);
    await mustWrite(store, batch([put('a')]));
    const before = await snapshotOf(store);

    const between = new Client({ connectionString: url });
    await between.connect();
    onTestFinished(() => between.end());
    await between.query('BEGIN; LOCK TABLE muster.head IN ACCESS EXCLUSIVE MODE');
    const snapshot = snapshotOf(store);
    await untilSomeoneWaits(url);
    await between.query(`UPDATE muster.head SET revision = 2, commit_id = 'between';
      INSERT INTO muster.resource (kind, id, revision, body) VALUES ('host', 'b', 2, '{}');
      COMMIT`);

    expect(await snapshot).toEqual(before);
    expect(await store.snapshot(() => undefined)).toMatchObject({ revision: 2, commitId: 'between' });
  });
});

/** The snapshot has begun and stands before the locked head. */
async function untilSomeoneWaits(url: string): Promise<void> {
  const waiting = `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'muster.head'::regclass`;
  while ((await sql(url, waiting)).length === 0) await setTimeout(10);
}
