import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from './schema.ts';
import { openSqliteStore, SqliteStore } from './store.ts';
import { storeContract } from '../contract/store-contract.ts';
import { batch, mustWrite, put, readAll, snapshotOf } from '../contract/world.ts';
import { type CommitBatch, type Store, StoreUnavailable, StoreUnusable, type WriteAnswer } from '../store.ts';

const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'muster-sqlite-'));

describe.each([
  ['SQLite', false],
  ['SQLite with every group on a thread', true],
])('%s', (name, alwaysOnThread) => {
  storeContract(name, async () => {
    const folder = await makeFolder();
    let nowMs = 1_000_000;
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const path = join(folder, 'journal.db');
      const store = await openSqliteStore({ path, nowMs: () => nowMs, alwaysOnThread });
      opened.push(store);
      return store;
    };
    return {
      store: await open(),
      another: open,
      pass: async (ms) => {
        nowMs += ms;
      },
      shortTtlMs: 10_000,
      sessions: 'none',
      close: async () => {
        await Promise.all(opened.map((store) => store.close()));
        await rm(folder, { recursive: true });
      },
    };
  });
});

async function pathForTest(): Promise<string> {
  const folder = await makeFolder();
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'journal.db');
}

test('sqlite-keeps-everything-over-a-restart', async () => {
  const path = await pathForTest();
  const before = await openSqliteStore({ path });
  await mustWrite(before, batch([put('a')]), batch([put('b')]));
  const snapshot = await snapshotOf(before);
  const { journalId } = before;
  await before.close();
  const after = await openSqliteStore({ path });
  expect(after.journalId).toBe(journalId);
  expect(await snapshotOf(after)).toEqual(snapshot);
  await after.close();
});

test('sqlite-refuses-a-newer-schema', async () => {
  const path = await pathForTest();
  await (await openSqliteStore({ path })).close();
  const database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 999');
  database.close();
  await expect(openSqliteStore({ path })).rejects.toMatchObject({ code: 'schema-too-new', name: 'StoreUnusable' });
});

test('sqlite-refuses-what-cannot-be-durable', async () => {
  await expect(openSqliteStore({ path: ':memory:' })).rejects.toMatchObject({ code: 'sqlite-not-wal' });
});

test('sqlite-refuses-a-file-that-is-no-database', async () => {
  const path = await pathForTest();
  await writeFile(path, 'not a database, but long enough to be looked at as one '.repeat(100));
  await expect(openSqliteStore({ path })).rejects.toBeInstanceOf(StoreUnusable);
});

test('sqlite-group-that-does-not-fit-on-the-disk-fails-whole-and-the-store-goes-on', async () => {
  const database = openDatabase(await pathForTest(), () => 'journal-1');
  const store = new SqliteStore(database, Date.now);
  onTestFinished(() => store.close());
  await mustWrite(store, batch([put('a')]));
  database.exec('PRAGMA max_page_count = 30');
  const group = { batches: [batch([put('b')]), batch([put('c', 'x'.repeat(1_000_000))])] };
  const refused = await store.write(group).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreUnavailable);
  expect(refused).toMatchObject({ outcome: 'failed', retryable: true, message: 'SQLite: the disk is full' });
  expect(await mustWrite(store, batch([put('d')]))).toBe(2);
  expect((await readAll(store)).map((one) => one.changes[0]?.id)).toEqual(['a', 'd']);
});

const HERE_AND_ON_A_THREAD = [
  ['here', false],
  ['on-a-thread', true],
] as const;

test.each(HERE_AND_ON_A_THREAD)(
  'sqlite-write-fails-clearly-while-another-process-keeps-the-lock: %s',
  async (_, alwaysOnThread) => {
    const path = await pathForTest();
    const store = await openSqliteStore({ path, alwaysOnThread });
    const other = new DatabaseSync(path);
    onTestFinished(async () => {
      other.close();
      await store.close();
    });
    other.exec('BEGIN IMMEDIATE');
    const refused = await store.write({ batches: [batch([put('a')])] }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreUnavailable);
    expect(refused).toMatchObject({ outcome: 'failed', message: 'SQLite: another process holds the database' });
    expect(await store.read({ revision: 0 }, 9)).toMatchObject({ kind: 'commits', head: 0 });
    other.exec('ROLLBACK');
    expect(await mustWrite(store, batch([put('a')]))).toBe(1);
  },
);

test.each(HERE_AND_ON_A_THREAD)(
  'sqlite-group-with-a-bug-in-it-leaves-nothing-behind: %s',
  async (_, alwaysOnThread) => {
    const store = await openSqliteStore({ path: await pathForTest(), alwaysOnThread });
    onTestFinished(() => store.close());
    const invalid = batch([put('b')], { atMs: null as unknown as number });
    await expect(store.write({ batches: [batch([put('a')]), invalid] })).rejects.toThrow('NOT NULL');
    expect(await snapshotOf(store)).toEqual({ position: { revision: 0 }, resources: [] });
    expect(await mustWrite(store, batch([put('c')]))).toBe(1);
  },
);

test('sqlite-lease-is-good-until-its-last-millisecond-and-not-longer', async () => {
  let nowMs = 0;
  const store = await openSqliteStore({ path: await pathForTest(), nowMs: () => nowMs });
  onTestFinished(() => store.close());
  const request = { name: 'fleet', url: '', ttlMs: 1000 };
  await store.acquireLease({ ...request, holder: 's1' });
  nowMs = 999;
  expect(await store.acquireLease({ ...request, holder: 's2' })).toMatchObject({ kind: 'refused' });
  nowMs = 1000;
  expect(await store.renewLease({ ...request, holder: 's1', epoch: 1 })).toMatchObject({ kind: 'refused' });
  expect(await store.acquireLease({ ...request, holder: 's2' })).toMatchObject({ kind: 'held', lease: { epoch: 2 } });
});

test('sqlite-lease-of-a-process-before-the-wall-clock-was-set-back-lasts-a-minute-at-most', async () => {
  const path = await pathForTest();
  const request = { name: 'fleet', url: '', ttlMs: 1000 };
  const before = await openSqliteStore({ path, nowMs: () => 3_600_000 });
  await before.acquireLease({ ...request, holder: 's1' });
  await before.close();
  let nowMs = 0;
  const after = await openSqliteStore({ path, nowMs: () => nowMs });
  onTestFinished(() => after.close());
  expect(await after.acquireLease({ ...request, holder: 's2' })).toMatchObject({
    kind: 'refused',
    lease: { holder: 's1', epoch: 1, expiresInMs: 60_000 },
  });
  nowMs = 59_999;
  expect(await after.acquireLease({ ...request, holder: 's2' })).toMatchObject({ kind: 'refused' });
  nowMs = 60_000;
  expect(await after.acquireLease({ ...request, holder: 's2' })).toMatchObject({ kind: 'held', lease: { epoch: 2 } });
});

test.each(HERE_AND_ON_A_THREAD)(
  'sqlite-lease-does-not-end-when-the-wall-clock-is-set: %s',
  async (_, alwaysOnThread) => {
    const store = await openSqliteStore({ path: await pathForTest(), alwaysOnThread });
    onTestFinished(() => store.close());
    const request = { name: 'fleet', url: '', ttlMs: 60_000, holder: 's1' };
    await store.acquireLease(request);
    const now = Date.now();
    for (const wallMs of [now + 3_600_000, now - 3_600_000]) {
      const wall = vi.spyOn(Date, 'now').mockReturnValue(wallMs);
      onTestFinished(() => wall.mockRestore());
      const { expiresInMs } = (await store.readLease('fleet'))!;
      expect(expiresInMs).toBeGreaterThan(0);
      expect(expiresInMs).toBeLessThanOrEqual(60_000);
      const fence = { lease: 'fleet', epoch: 1, holder: 's1' };
      expect(await store.write({ batches: [batch([put(`at-${wallMs}`)])], fence })).toMatchObject({ kind: 'written' });
      expect(await store.renewLease({ ...request, epoch: 1 })).toMatchObject({ kind: 'held' });
    }
  },
);

test('sqlite-leases-and-compaction-wait-for-the-thread', async () => {
  const store = await openSqliteStore({ path: await pathForTest(), alwaysOnThread: true });
  onTestFinished(() => store.close());
  const order: string[] = [];
  const noting = async (name: string, work: Promise<unknown>): Promise<void> => {
    await work;
    order.push(name);
  };
  await Promise.all([
    noting('first', mustWrite(store, batch([put('a')]), batch([put('b')]))),
    noting('second', mustWrite(store, batch([put('c')]))),
    noting('lease', store.acquireLease({ name: 'fleet', holder: 's1', url: '', ttlMs: 1000 })),
    noting('compact', store.compact(0, 1)),
    noting('third', mustWrite(store, batch([put('d')]))),
  ]);
  expect(order[0]).toBe('first');
  expect(order).toHaveLength(5);
  expect((await readAll(store)).map((one) => one.changes[0]?.id)).toEqual(['a', 'b', 'c', 'd']);
});

test('sqlite-log-is-brought-into-the-tables-before-it-is-large', async () => {
  const path = await pathForTest();
  const store = await openSqliteStore({ path });
  onTestFinished(() => store.close());
  const large = put('a', { text: 'x'.repeat(60_000) });
  const logBytes = async (): Promise<number> => (await stat(`${path}-wal`)).size;
  for (let nth = 0; nth < 8; nth += 1) await mustWrite(store, ...Array.from({ length: 30 }, () => batch([large])));
  const afterFew = await logBytes();
  for (let nth = 0; nth < 24; nth += 1) await mustWrite(store, ...Array.from({ length: 30 }, () => batch([large])));
  expect(afterFew).toBeGreaterThan(8_000_000);
  expect(await logBytes()).toBeLessThan(24_000_000);
});

test('sqlite-large-groups-go-to-the-thread-once-it-is-there, and the next fifteen however small', async () => {
  const store = await openSqliteStore({ path: await pathForTest() });
  onTestFinished(() => store.close());
  const toThread = vi.spyOn(Worker.prototype, 'postMessage');
  onTestFinished(() => toThread.mockRestore());
  const large = (): CommitBatch[] => Array.from({ length: 64 }, () => batch([put('a')]));
  const groups: number[] = [];
  await vi.waitUntil(async () => {
    groups.push(await mustWrite(store, ...large()));
    return toThread.mock.calls.length > 0;
  });
  expect(groups).toEqual(groups.map((_, at) => (at + 1) * 64));
  const written = groups.length * 64;
  for (let nth = 1; nth <= 17; nth += 1) expect(await mustWrite(store, batch([put('b')]))).toBe(written + nth);
  expect(toThread).toHaveBeenCalledTimes(1 + 15);
  expect(await mustWrite(store, ...large())).toBe(written + 17 + 64);
  expect(toThread).toHaveBeenCalledTimes(1 + 15 + 1);
});

test('sqlite-a-commit-of-many-documents-goes-to-the-thread-too: it would hold the event loop', async () => {
  const store = await openSqliteStore({ path: await pathForTest() });
  onTestFinished(() => store.close());
  const toThread = vi.spyOn(Worker.prototype, 'postMessage');
  onTestFinished(() => toThread.mockRestore());
  const many = Array.from({ length: 200 }, (_, nth) => put(`n${nth}`));
  const reached = async (): Promise<boolean> => {
    await mustWrite(store, batch(many));
    return toThread.mock.calls.length > 0;
  };
  await vi.waitUntil(reached, { timeout: 60_000 });
});

test('sqlite-small-groups-are-written-here-while-there-was-no-large-one', async () => {
  const store = await openSqliteStore({ path: await pathForTest() });
  onTestFinished(() => store.close());
  const toThread = vi.spyOn(Worker.prototype, 'postMessage');
  onTestFinished(() => toThread.mockRestore());
  for (let nth = 1; nth <= 5; nth += 1) expect(await mustWrite(store, batch([put('a')]))).toBe(nth);
  expect(toThread).not.toHaveBeenCalled();
});

test('sqlite-group-is-in-doubt-when-the-thread-ends, and the next one gets a new thread', async () => {
  const path = await pathForTest();
  const store = await openSqliteStore({ path, alwaysOnThread: true });
  onTestFinished(() => store.close());
  expect(await mustWrite(store, batch([put('a')]))).toBe(1);
  const started = vi.spyOn(Worker.prototype, 'postMessage');
  const writing = store.write({ batches: [batch([put('b')])] });
  await (started.mock.contexts[0] as Worker).terminate();
  const outcome = await writing.catch((error: unknown) => error);
  expect(outcome).toSatisfy(
    (one) => (one as WriteAnswer).kind === 'written' || (one as StoreUnavailable).outcome === 'unknown',
  );
  started.mockRestore();
  const head = (await readAll(store)).length;
  expect(await mustWrite(store, batch([put('c')]))).toBe(head + 1);
});

test.each(HERE_AND_ON_A_THREAD)('sqlite-closed-store-fails-clearly: %s', async (_, alwaysOnThread) => {
  const store = await openSqliteStore({ path: await pathForTest(), alwaysOnThread });
  await mustWrite(store, batch([put('a')]));
  await store.close();
  await store.close();
  await expect(store.write({ batches: [batch([put('a')])] })).rejects.toMatchObject({ outcome: 'failed' });
  await expect(store.read({ revision: 0 }, 1)).rejects.toBeInstanceOf(StoreUnavailable);
});
