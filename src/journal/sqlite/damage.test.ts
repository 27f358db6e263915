// Damage done to a SQLite file behind the store's back is named at load, and a store of the version before the chain stays in use.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { journalOn } from '../journal-fixture.ts';
import { describeDamage } from '../damage.ts';
import { openSqliteStore, type SqliteStore } from './store.ts';
import { absent, atRevision, batch, drop, mustWrite, put, readAll, snapshotOf } from '../contract/world.ts';

async function pathForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-damage-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'journal.db');
}

async function open(path: string, alwaysOnThread = false): Promise<SqliteStore> {
  const store = await openSqliteStore({ path, alwaysOnThread });
  onTestFinished(() => store.close());
  return store;
}

const damageOf = async (store: SqliteStore): Promise<string[]> =>
  (await store.snapshot(() => undefined)).damage.map(describeDamage);

test.each<[string, string, string[]]>([
  ['nothing', 'SELECT 1', []],
  [
    'a byte of a document',
    `UPDATE resource SET body = replace(body, 'one', 'onf') WHERE id = 'a'`,
    ['the document host/a of revision 4 is damaged'],
  ],
  [
    'a document that is no JSON any more',
    `UPDATE resource SET body = substr(body, 2) WHERE id = 'b'`,
    ['the document host/b of revision 2 is damaged'],
  ],
  ['a document that is gone', `DELETE FROM resource WHERE id = 'b'`, ['there are 1 documents, and should be 2']],
  [
    'a document too many',
    `INSERT INTO resource (kind, id, revision, body) VALUES ('host', 'x', 3, '{}')`,
    ['there are 3 documents, and should be 2'],
  ],
  [
    'an older document with its own digest',
    `UPDATE resource SET revision = 1, body = '{"text":"one"}', digest = (SELECT digest FROM old)  WHERE id = 'a'`,
    ['one or more of the 2 documents are older than what was written last'],
  ],
  [
    'the end of the log',
    'DELETE FROM commit_log WHERE revision > 3',
    ['the commits of revisions 4 to 5 are missing from the log'],
  ],
  [
    'the beginning of the log',
    'DELETE FROM commit_log WHERE revision < 3',
    ['the commits of revisions 1 to 2 are missing from the log'],
  ],
  [
    'the middle of the log',
    'DELETE FROM commit_log WHERE revision = 3',
    ['the commit of revision 3 is missing from the log'],
  ],
  ['all of the log', 'DELETE FROM commit_log', ['the commits of revisions 1 to 5 are missing from the log']],
  [
    'who did it',
    `UPDATE commit_log SET by_whom = 'me' WHERE revision = 2`,
    ['the commit of revision 2 does not match the hash chain'],
  ],
  [
    'the text of a commit',
    `UPDATE commit_log SET changes = '{}' WHERE revision = 2`,
    ['the commit of revision 2 does not match the hash chain'],
  ],
  ['the head', 'UPDATE head SET revision = 4', ['the head is at revision 4, but the last commit of the log is 5']],
])('damaged: %s', async (_name, sql, expected) => {
  const path = await pathForTest();
  const before = await openSqliteStore({ path });
  await mustWrite(before, batch([put('a', { text: 'one' })]));
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE old AS SELECT digest FROM resource WHERE id = 'a'`);
  await mustWrite(before, batch([put('b')], { preconditions: [absent('b')] }), batch([put('c')]));
  await mustWrite(
    before,
    batch([put('a', { text: 'one' })], { preconditions: [atRevision('a', 1)] }),
    batch([drop('c')]),
  );
  await before.close();
  database.exec(sql);
  database.close();
  const store = await open(path);
  expect(await damageOf(store)).toEqual(expected);
  expect(await damageOf(await open(path, true))).toEqual(expected);
  const opened = journalOn(store).open();
  // Its kind is none of this journal's: without damage that is what is said.
  if (expected.length === 0) await expect(opened).rejects.toThrow('not registered');
  else await expect(opened).rejects.toMatchObject({ code: 'store-damaged', message: expected.join('; ') });
});

test('a follower that meets a damaged commit stops there, and names it', async () => {
  const path = await pathForTest();
  const store = await open(path);
  await mustWrite(store, batch([]), batch([]), batch([]));
  const journal = journalOn(store);
  await journal.open();
  await mustWrite(store, batch([]), batch([], { by: 'somebody' }), batch([]));
  const database = new DatabaseSync(path);
  database.exec(`UPDATE commit_log SET by_whom = 'nobody' WHERE revision = 5`);
  database.close();
  await expect(journal.catchUp()).rejects.toMatchObject({
    code: 'store-damaged',
    damage: [{ kind: 'commit', revision: 5 }],
  });
  expect(journal.fleet.revision).toBe(3);
});

test('a store of the version before the chain goes on; the chain begins with the first new commit', async () => {
  const path = await pathForTest();
  await copyFile(new URL('../../../test/fixtures/journal-schema-1.db', import.meta.url), path);
  const store = await open(path);
  const before = await snapshotOf(store);
  expect(before.position).toEqual({ revision: 5, commitId: 'c-old-5' });
  expect((await readAll(store)).map((one) => one.hash)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  const change = { kind: 'site', id: 'one', body: '{"description":"new"}' };
  await mustWrite(
    store,
    batch([change], { preconditions: [{ kind: 'at', resource: ['site', 'one'], revision: 3 }] }),
    batch([]),
  );
  expect((await readAll(store)).map((one) => typeof one.hash)).toEqual([
    ...Array<string>(5).fill('undefined'),
    'string',
    'string',
  ]);
  expect(await damageOf(store)).toEqual([]);
  const database = new DatabaseSync(path);
  database.exec('UPDATE commit_log SET hash = NULL WHERE revision = 6');
  database.close();
  expect(await damageOf(store)).toContain('the commit of revision 6 does not match the hash chain');
});
