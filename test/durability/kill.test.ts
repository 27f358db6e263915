// kill -9 at random moments: what was acknowledged is there, and nothing is half there.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import { freshDatabase, postgresSuite, sql } from '../postgres/suite.ts';
import { expectWhole, killedWriter } from './kill.ts';

// All of a file is read after each round; a new one now and then keeps that short, and makes a schema again.
const ROUNDS_OF_A_FILE = 10;
const POSTGRES_ROUNDS = 20;
const MUTANT_ROUNDS_MAX = 50;

async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-kill-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test.each([
  ['sqlite', 50],
  ['sqlite-on-a-thread', 20],
])('%s-survives-kill-9-at-any-moment', async (kind, rounds) => {
  const folder = await folderForTest();
  let acknowledged = 0;
  for (let life = 0; life < rounds / ROUNDS_OF_A_FILE; life += 1) {
    acknowledged += await killSqliteAgainAndAgain(kind, join(folder, `journal-${life}.db`));
  }
  expect(acknowledged).toBeGreaterThan(rounds);
});

async function killSqliteAgainAndAgain(kind: string, path: string): Promise<number> {
  const expected: string[] = [];
  for (let round = 0; round < ROUNDS_OF_A_FILE; round += 1) {
    expected.push(...(await killedWriter(kind, path, `round-${round}`)));
    const store = await openSqliteStore({ path });
    try {
      await expectWhole(store, expected);
    } finally {
      await store.close();
    }
  }
  return expected.length;
}

test('the-mutant-that-acknowledges-first-is-found-by-kill-9', async () => {
  const path = join(await folderForTest(), 'journal.db');
  const expected: string[] = [];
  for (let round = 0; round < MUTANT_ROUNDS_MAX; round += 1) {
    expected.push(...(await killedWriter('acknowledges-first', path, `round-${round}`)));
    const store = await openSqliteStore({ path });
    const found = await expectWhole(store, expected).then(
      () => false,
      () => true,
    );
    await store.close();
    if (found) return;
  }
  expect.fail(`not found in ${MUTANT_ROUNDS_MAX} rounds`);
});

/** The server may still be at the killed writer's last request. */
async function untilItsSessionsEnded(url: string): Promise<void> {
  const sessions = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'muster'`;
  while ((await sql(url, sessions)).length > 0) await setTimeout(5);
}

postgresSuite('postgres-durability', (postgres) => {
  test('postgres-survives-kill-9-of-a-writer-at-any-moment', async () => {
    const url = await freshDatabase(postgres.url);
    const expected: string[] = [];
    for (let round = 0; round < POSTGRES_ROUNDS; round += 1) {
      expected.push(...(await killedWriter('postgres', url, `round-${round}`)));
      await untilItsSessionsEnded(url);
      const store = await openPostgresStore({ connectionString: url });
      try {
        await expectWhole(store, expected);
      } finally {
        await store.close();
      }
    }
    expect(expected.length).toBeGreaterThan(POSTGRES_ROUNDS);
  });
});
