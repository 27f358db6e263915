// What only PostgreSQL can get wrong about a group: it waits for the head, and what it then checks must be of that moment.
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  absent,
  atRevision,
  batch,
  drop,
  mustWrite,
  put,
  readAll,
  snapshotOf,
} from '../../src/journal/contract/world.ts';
import type { CommitGroup, Store } from '../../src/journal/store.ts';
import { freshDatabase, openForTest, postgresSuite, sql } from './suite.ts';

const LEASE = { name: 'fleet', holder: 's1', url: 'http://s1' };
const STALE = { lease: 'fleet', epoch: 7 };

postgresSuite('postgres-group', (postgres) => {
  let url: string;
  let store: Store;
  beforeEach(async () => {
    url = await freshDatabase(postgres.url);
    store = await openForTest(url);
  });

  /** Starts the write while another session has the head; releases it after `meanwhile`. */
  async function writeBehind(group: CommitGroup, meanwhile: (first: Client) => Promise<unknown>) {
    const first = new Client({ connectionString: url });
    await first.connect();
    onTestFinished(() => first.end());
    await first.query('BEGIN; UPDATE muster.head SET revision = revision');
    const written = store.write(group);
    const waiting = `SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%write_group%'`;
    while ((await sql(url, waiting)).length === 0) await setTimeout(10);
    await meanwhile(first);
    await first.query('COMMIT');
    return written;
  }

  test('a-lease-that-runs-out-while-the-group-waits-for-the-head-refuses-it', async () => {
    await store.acquireLease({ ...LEASE, ttlMs: 1000 });
    const group = { fence: { lease: 'fleet', epoch: 1 }, batches: [batch([put('a')])] };
    const conflict = { kind: 'lease', lease: 'fleet', epoch: 1, actualEpoch: 1, expired: true };
    expect(await writeBehind(group, () => setTimeout(1100))).toEqual({ kind: 'conflict', conflict });
    expect(await readAll(store)).toEqual([]);
  });

  test('a-resource-that-comes-while-the-group-waits-for-the-head-is-seen', async () => {
    const group = { batches: [batch([put('a')], { preconditions: [absent('a')] })] };
    const insert = `INSERT INTO muster.resource (kind, id, revision, body) VALUES ('host', 'a', 1, '{}')`;
    const conflict = { kind: 'resource', batch: 0, resource: ['host', 'a'], expected: 'absent', actual: 1 };
    expect(await writeBehind(group, (first) => first.query(insert))).toEqual({ kind: 'conflict', conflict });
    expect(await readAll(store)).toEqual([]);
  });

  test('the-lease-counts-before-the-head-and-the-head-before-resources', async () => {
    const batches = [batch([put('a')], { preconditions: [atRevision('a', 5)] })];
    const conflictOf = async (group: CommitGroup) => (await store.write(group)) as { conflict?: { kind: string } };
    expect(await conflictOf({ batches, expectedHead: 9, fence: STALE })).toMatchObject({ conflict: { kind: 'lease' } });
    expect(await conflictOf({ batches, expectedHead: 9 })).toMatchObject({ conflict: { kind: 'head' } });
    expect(await conflictOf({ batches })).toMatchObject({ conflict: { kind: 'resource' } });
  });

  test('an-empty-group-is-checked-too-and-leaves-the-head-as-it-is', async () => {
    await mustWrite(store, batch([put('a')]));
    const before = await snapshotOf(store);
    expect(await store.write({ batches: [], fence: STALE })).toMatchObject({ conflict: { kind: 'lease' } });
    expect(await store.write({ batches: [], expectedHead: 4 })).toMatchObject({
      conflict: { kind: 'head', actual: 1 },
    });
    expect(await store.write({ batches: [], expectedHead: 1 })).toEqual({ kind: 'written', revision: 1 });
    expect(await snapshotOf(store)).toEqual(before);
  });

  test('the-first-precondition-that-fails-is-named-among-stored-made-and-deleted-ones', async () => {
    await mustWrite(store, batch([put('a')]), batch([put('b')]));
    const batches = [
      batch([put('c'), drop('a')], { preconditions: [atRevision('a', 1), absent('c')] }),
      batch([], { preconditions: [atRevision('b', 2), atRevision('c', 3), absent('a')] }),
      batch([put('b')], { preconditions: [atRevision('c', 4), atRevision('b', 1)] }),
    ];
    const conflict = { kind: 'resource', batch: 2, resource: ['host', 'c'], expected: 4, actual: 3 };
    expect(await store.write({ batches })).toEqual({ kind: 'conflict', conflict });
  });

  test('a-refusal-keeps-the-session-and-what-it-has-prepared', async () => {
    await mustWrite(store, batch([put('a')]));
    const sessions = `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'muster' ORDER BY pid`;
    const before = await sql(url, sessions);
    await store.write({ batches: [batch([put('a')], { preconditions: [absent('a')] })] });
    expect(await mustWrite(store, batch([put('b')]))).toBe(2);
    expect(await sql(url, sessions)).toEqual(before);
  });
});
