// What a start meets: an empty database that others start on too, a newer schema, a server that would lose commits.
import { execFile } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { describeDamage } from '../../src/journal/damage.ts';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { batch, drop, mustWrite, put, readAll, snapshotOf } from '../../src/journal/contract/world.ts';
import { startCluster } from './cluster.ts';
import { freshDatabase, openForTest, postgresSuite, sql } from './suite.ts';

const run = promisify(execFile);

/** Takes the third migration back. */
const TO_VERSION_2 = `
  DROP FUNCTION muster.write_group_chained, muster.write_group;
  ALTER FUNCTION muster.write_unchained_group RENAME TO write_group;
  ALTER TABLE muster.head DROP COLUMN hash, DROP COLUMN floor_hash, DROP COLUMN chained_from, DROP COLUMN documents,
    DROP COLUMN revision_sum, DROP COLUMN restoring;
  ALTER TABLE muster.commit_log DROP COLUMN hash;
  ALTER TABLE muster.resource DROP COLUMN digest;
  UPDATE muster.schema_version SET version = 2;`;

postgresSuite('postgres-start', (postgres) => {
  test('three-processes-start-on-an-empty-database', async () => {
    const url = await freshDatabase(postgres.url);
    const script = new URL('writer.ts', import.meta.url).pathname;
    const starts = ['w1', 'w2', 'w3'].map((name) => run(process.execPath, [script, url, name, '1']));
    const outputs = (await Promise.all(starts)).map(({ stdout }) => stdout.trim().split('\n'));
    expect(new Set(outputs.map(([journal]) => journal)).size).toBe(1);
    const commits = await readAll(await openForTest(url));
    expect(commits.map((one) => one.revision)).toEqual([1, 2, 3]);
    expect(new Set(commits.map((one) => one.by))).toEqual(new Set(['w1', 'w2', 'w3']));
  });

  test('many-stores-start-on-an-empty-schema-at-the-same-moment', async () => {
    const connectionString = await freshDatabase(postgres.url);
    for (const schema of ['one', 'two', 'three']) {
      const stores = await Promise.all(
        Array.from({ length: 8 }, () => openPostgresStore({ connectionString, schema })),
      );
      await Promise.all(stores.map((store) => store.close()));
      expect(new Set(stores.map((store) => store.journalId)).size).toBe(1);
    }
  });

  test('a-newer-schema-is-refused', async () => {
    const url = await freshDatabase(postgres.url);
    await (await openPostgresStore({ connectionString: url })).close();
    await sql(url, 'UPDATE muster.schema_version SET version = 999');
    await expect(openPostgresStore({ connectionString: url })).rejects.toMatchObject({
      name: 'StoreUnusable',
      code: 'schema-too-new',
    });
  });

  test('a-schema-of-version-1-is-brought-up-to-date-and-keeps-its-commits', async () => {
    const url = await freshDatabase(postgres.url);
    const first = await openPostgresStore({ connectionString: url });
    await mustWrite(first, batch([put('a')]));
    await first.close();
    await sql(url, TO_VERSION_2);
    await sql(url, 'DROP FUNCTION muster.write_group');
    await sql(url, 'UPDATE muster.schema_version SET version = 1');
    const store = await openForTest(url);
    expect(store.journalId).toBe(first.journalId);
    expect(await mustWrite(store, batch([put('b')]))).toBe(2);
    expect(await readAll(store)).toHaveLength(2);
  });

  test('never: a server of version 0.1.0 starts on what this version may have written to', async () => {
    const url = await freshDatabase(postgres.url);
    const first = await openPostgresStore({ connectionString: url });
    await mustWrite(first, batch([put('a')]));
    await first.close();
    // The last schema that 0.1.0 knows: it refuses every higher one by name (`schema-too-new`).
    await sql(url, 'UPDATE muster.schema_version SET version = 3');
    const store = await openForTest(url);
    expect(store.journalId).toBe(first.journalId);
    expect(await sql(url, 'SELECT version FROM muster.schema_version')).toMatchObject([{ version: 4 }]);
    expect(await readAll(store)).toHaveLength(1);
  });

  test('the-hash-chain-begins-with-the-first-commit-of-this-version-and-anew-behind-a-server-of-the-older-one', async () => {
    const url = await freshDatabase(postgres.url);
    const first = await openPostgresStore({ connectionString: url });
    await mustWrite(first, batch([put('a')]), batch([put('b')]));
    await first.close();
    await sql(url, TO_VERSION_2);
    const store = await openForTest(url);
    const hashed = async (): Promise<boolean[]> => (await readAll(store)).map((one) => one.hash !== undefined);
    await mustWrite(store, batch([put('c')]));
    await mustWrite(store, batch([put('a', { text: 'new' })]));
    expect(await hashed()).toEqual([false, false, true, true]);
    await snapshotOf(store);
    // What a running server of the version before does: it calls the function that it knows.
    const change = `{"of":[["host","a",2]],"bodies":[{}]}`;
    await sql(
      url,
      `SELECT muster.write_group('{old-5}', '{5}', '{old}', '{null}', '{null}', $1, '{host}', '{a}', '{1}',
        '{host}', '{a}', '{1}', '{"{}"}', '{}', '{}', '{}', '{}', '{}', '{}', null, null, null, 4, 'muster_head')`,
      [[change]],
    );
    expect(await hashed()).toEqual([false, false, true, true, false]);
    await mustWrite(store, batch([put('b')]));
    expect(await hashed()).toEqual([false, false, true, true, false, true]);
    await snapshotOf(store);
    const again = await openForTest(url);
    await mustWrite(again, batch([drop('b')]));
    await snapshotOf(again);
  });

  test('damage-is-named-with-its-revision', async () => {
    const url = await freshDatabase(postgres.url);
    const store = await openForTest(url);
    await mustWrite(store, batch([put('a')]), batch([put('b')]), batch([put('c')]), batch([drop('c')]));
    const damage = async (text: string): Promise<string[]> => {
      await sql(url, text);
      return (await store.snapshot(() => undefined)).damage.map(describeDamage);
    };
    expect(await damage(`SELECT 1`)).toEqual([]);
    expect(await damage(`UPDATE muster.resource SET body = '{"id":"z"}' WHERE id = 'a'`)).toEqual([
      'the document host/a of revision 1 is damaged',
    ]);
    expect(await damage(`DELETE FROM muster.resource WHERE id = 'a'`)).toEqual([
      'there are 1 documents, and should be 2',
    ]);
    expect(await damage(`DELETE FROM muster.commit_log WHERE revision = 2`)).toContain(
      'the commit of revision 2 is missing from the log',
    );
    expect(await store.read({ revision: 0 }, 9)).toEqual({
      kind: 'damaged',
      damage: { kind: 'missing-commits', from: 2, to: 2 },
    });
  });

  test('a-default-isolation-that-shows-old-rows-is-not-taken-over', async () => {
    const url = await freshDatabase(postgres.url);
    await sql(
      url,
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_isolation = 'repeatable read'`,
    );
    const stores = [await openForTest(url), await openForTest(url)];
    const writes = Array.from({ length: 40 }, (_, n) => mustWrite(stores[n % 2]!, batch([put(`a${n}`)])));
    const revisions = (await Promise.all(writes)).toSorted((a, b) => a - b);
    expect(revisions).toEqual(writes.map((_, n) => n + 1));
  });

  test('a-wrong-password-needs-a-person-a-server-that-is-away-does-not', async () => {
    const wrong = new URL(postgres.url);
    wrong.password = 'wrong';
    await expect(openPostgresStore({ connectionString: wrong.href })).rejects.toMatchObject({
      code: 'postgres-refused',
    });
    const away = new URL(postgres.url);
    away.port = '1';
    await expect(openPostgresStore({ connectionString: away.href })).rejects.toMatchObject({
      code: 'store-unavailable',
      outcome: 'failed',
    });
  });

  test('synchronous-commit-off-is-refused-at-the-start', async () => {
    const url = await freshDatabase(postgres.url);
    await sql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`);
    const start = openPostgresStore({ connectionString: url });
    await expect(start).rejects.toMatchObject({ name: 'StoreUnusable', code: 'postgres-not-durable' });
    await expect(start).rejects.toThrow('PostgreSQL runs with synchronous_commit = off');
    expect(await sql(url, `SELECT 1 FROM pg_namespace WHERE nspname = 'muster'`)).toEqual([]);
  });

  test('settings-that-lose-commits-are-refused-also-when-they-come-later', async () => {
    const cluster = await startCluster({ binDir: postgres.binDir });
    onTestFinished(() => cluster.stop());
    const store = await openForTest(cluster.url);
    await mustWrite(store, batch([put('a')]));
    for (const setting of ['fsync', 'synchronous_commit']) {
      await setAndReload(cluster.url, setting, 'off');
      const lost = store.write({ batches: [batch([put('lost')])] });
      await expect(lost).rejects.toMatchObject({ code: 'postgres-not-durable' });
      await expect(openPostgresStore({ connectionString: cluster.url })).rejects.toThrow(`${setting} = off`);
      await setAndReload(cluster.url, setting, 'on');
    }
    expect(await mustWrite(store, batch([put('b')]))).toBe(2);
  });
});

/** A session that begins after the reload has the new value, and by then the older ones have it, too. */
async function setAndReload(url: string, setting: string, value: 'on' | 'off'): Promise<void> {
  await sql(url, `ALTER SYSTEM SET ${setting} = ${value}`);
  await sql(url, 'SELECT pg_reload_conf()');
  const now = `SELECT current_setting('${setting}') AS value`;
  while ((await sql<{ value: string }>(url, now))[0]?.value !== value) await setTimeout(20);
}
