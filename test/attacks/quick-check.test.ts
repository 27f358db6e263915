// A page that is damaged in a database too large to be checked before the start: the check runs in a thread beside the server, finds it,
// and no request waits for it.
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { prepareQuickCheck } from '../../src/journal/sqlite/quick-check.ts';
import { openSqliteStore } from '../../src/journal/sqlite/store.ts';
import { batch, mustWrite, put } from '../../src/journal/contract/world.ts';
import { newFolder, startServer } from '../cli/muster.ts';

const PAGE_BYTES = 4096;
/** Beyond what is checked before a server is ready. */
const ROWS = 20_000;

/** Rows that no start reads: what is wrong with them, only a look at the whole file finds. */
function enlarge(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`CREATE TABLE filler (id INTEGER PRIMARY KEY, content BLOB);
    WITH RECURSIVE row (nth) AS (SELECT 1 UNION ALL SELECT nth + 1 FROM row WHERE nth < ${ROWS})
    INSERT INTO filler SELECT nth, zeroblob(3500) FROM row;
    PRAGMA wal_checkpoint(TRUNCATE);`);
  database.close();
  expect(statSync(path).size).toBeGreaterThan(64 * 1024 * 1024);
}

/** As a disk that lost a sector would: the header of a page in the middle of the filler is gone. */
function damagePage(path: string): void {
  const page = Math.floor(statSync(path).size / PAGE_BYTES / 2);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(64, 0xff), 0, 64, page * PAGE_BYTES);
  closeSync(file);
}

const data = join(newFolder(), 'data');
const path = join(data, 'muster.db');

beforeAll(async () => {
  const server = await startServer(data);
  await server.said(/recorded which keys/);
  await server.stop();
  enlarge(path);
});

test('a sound file: the check says so later, and commits are made while it runs', async () => {
  const copy = join(newFolder(), 'copy');
  mkdirSync(copy, { mode: 0o700 });
  const own = join(copy, 'muster.db');
  const store = await openSqliteStore({ path: own });
  enlarge(own);
  const found = Promise.withResolvers<readonly string[]>();
  let isOver = false;
  const start = prepareQuickCheck(own, (findings) => {
    isOver = true;
    found.resolve(findings);
  });
  start();
  // Not in this turn of the event loop: the caller continues first.
  expect(isOver).toBe(false);
  let [commits, turns] = [0, 0];
  const isRunning = (): boolean => !isOver;
  while (isRunning()) {
    commits = await mustWrite(store, batch([put('h1', { turns })]));
    turns += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await found.promise).toEqual([]);
  expect(commits).toBe(turns);
  // It takes the thread longer to begin than one commit takes.
  expect(turns).toBeGreaterThan(1);
  await store.close();
});

test('a damaged page: the server is ready, works, and then raises the alarm', async () => {
  damagePage(path);
  const server = await startServer(data);
  expect(await server.muster('sites', 'create', 'north')).toMatchObject({ code: 0 });
  await server.said(/integrity: store-damaged/);
  let alarms: { id: string; sentence: string }[] = [];
  while (alarms.length === 0) alarms = await server.json('alarms');
  expect(alarms).toMatchObject([{ id: 'store-damaged:quick-check' }]);
  expect(alarms[0]?.sentence).toMatch(/database is damaged: .*(page|malformed)/i);
  const authorization = `Bearer ${readFileSync(join(data, 'admin-token'), 'utf8').trim()}`;
  const metrics = await (await fetch(`${server.url}/metrics`, { headers: { authorization } })).text();
  expect(metrics).toContain('muster_integrity_findings_total{code="store-damaged"} 1');
  expect((await server.json<unknown[]>('sites', 'list')).length).toBe(2);
  await server.stop();
});
