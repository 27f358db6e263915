// What a lost connection means: `failed` is certain, `unknown` is found out by reading, and the store recovers by itself.
import { Client } from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { poolConfig } from '../../src/journal/postgres/connections.ts';
import { batch, mustWrite, put, readAll, replay, snapshotOf } from '../../src/journal/contract/world.ts';
import { type Store, StoreUnavailable } from '../../src/journal/store.ts';
import { Proxy } from './proxy.ts';
import { withRetries, cutSessions, freshDatabase, openForTest, postgresSuite } from './suite.ts';

const NOBODY_LISTENS = 1;

postgresSuite('postgres-connection-loss', (postgres) => {
  let url: string;
  beforeAll(async () => {
    url = await freshDatabase(postgres.url);
  });

  async function throughProxy(): Promise<{ readonly proxy: Proxy; readonly store: Store; readonly direct: Store }> {
    const proxy = new Proxy(Number(new URL(url).port));
    await proxy.start();
    onTestFinished(() => proxy.stop());
    return { proxy, store: await openForTest(proxy.through(url)), direct: await openForTest(url) };
  }

  const failureOf = async (write: Promise<unknown>): Promise<unknown> => write.catch((error: unknown) => error);

  test('no-connection-to-send-it-on-has-failed-and-nothing-is-there', async () => {
    const { proxy, store, direct } = await throughProxy();
    const before = await snapshotOf(direct);
    proxy.pointTo(NOBODY_LISTENS);
    await failureOf(snapshotOf(store)); // meets the connection that was cut, the write below makes a new one
    const failure = await failureOf(store.write({ batches: [batch([put('a')])] }));
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(failure).toMatchObject({ outcome: 'failed' });
    proxy.pointTo(Number(new URL(url).port));
    expect(await snapshotOf(direct)).toEqual(before);
    expect(await withRetries(() => mustWrite(store, batch([put('a')])))).toBe(before.position.revision + 1);
  });

  test('a-server-that-times-out-on-the-head-has-failed-and-nothing-is-there', async () => {
    const impatient = new URL(url);
    impatient.searchParams.set('statement_timeout', '200');
    const store = await openForTest(impatient.href);
    const before = await snapshotOf(store);
    const holder = new Client({ connectionString: url });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('BEGIN; UPDATE muster.head SET revision = revision');
    expect(await failureOf(store.write({ batches: [batch([put('a')])] }))).toMatchObject({ outcome: 'failed' });
    await holder.query('ROLLBACK');
    expect(await snapshotOf(store)).toEqual(before);
    expect(await mustWrite(store, batch([put('a')]))).toBe(before.position.revision + 1);
  });

  // The first write of a connection prepares the statement, the later ones only name it.
  describe.each(['first', 'later'])('the %s write of a connection', (which) => {
    async function ready() {
      const { proxy, store } = await throughProxy();
      if (which === 'later') await mustWrite(store, batch([put('earlier')]));
      // As a journal does when it is opened: a store that does not know the head is refused once and writes again.
      return { proxy, store, position: (await snapshotOf(store)).position };
    }

    test('cut-after-it-was-carried-out-is-unknown-and-the-commit-is-found-by-its-id', async () => {
      const { proxy, store, position } = await ready();
      const lost = batch([put('b')]);
      proxy.cutOnce({ at: 'write_group', when: 'after-server' });
      expect(await failureOf(store.write({ batches: [lost] }))).toMatchObject({ outcome: 'unknown' });
      expect((await readAll(store, position)).map((one) => one.id)).toEqual([lost.id]);
    });

    test('cut-before-it-arrived-is-unknown-and-the-commit-is-not-found', async () => {
      const { proxy, store, position } = await ready();
      proxy.cutOnce({ at: 'write_group', when: 'before-server' });
      expect(await failureOf(store.write({ batches: [batch([put('c')])] }))).toMatchObject({ outcome: 'unknown' });
      expect(await readAll(store, position)).toEqual([]);
      expect(await mustWrite(store, batch([put('c')]))).toBe(position.revision + 1);
    });
  });

  test('sessions-ended-in-the-middle-of-writes-lose-nothing-acknowledged', async () => {
    const store = await openForTest(url);
    const { position } = await snapshotOf(store);
    const outcomes = new Map<string, 'written' | 'failed' | 'unknown'>();
    const write = async (n: number): Promise<void> => {
      const one = batch([put(`cut-${n}`)]);
      const failure = await failureOf(mustWrite(store, one));
      outcomes.set(one.id, failure instanceof StoreUnavailable ? failure.outcome : 'written');
    };
    for (let round = 0; round < 10; round += 1) {
      const writes = Array.from({ length: 20 }, (_, n) => write(round * 20 + n));
      await cutSessions(url);
      await Promise.all(writes);
    }
    const there = new Set((await withRetries(() => readAll(store, position))).map((one) => one.id));
    for (const [id, outcome] of outcomes) {
      if (outcome !== 'unknown') expect([id, there.has(id)]).toEqual([id, outcome === 'written']);
    }
    expect((await snapshotOf(store)).resources).toEqual(replay([], await readAll(store)));
  });

  test('notifications-come-again-after-the-listener-was-cut', async () => {
    const [follower, writer] = [await openForTest(url), await openForTest(url)];
    await cutSessions(url);
    // Woken by the listener's return, then, from the head on, only by a notification of the other store's commit.
    await follower.waitForChange(Number.MAX_SAFE_INTEGER, AbortSignal.timeout(30_000));
    const { position } = await withRetries(() => snapshotOf(follower));
    const timeout = AbortSignal.timeout(30_000);
    const woken = follower.waitForChange(position.revision, timeout);
    await withRetries(() => mustWrite(writer, batch([put('received')])));
    await woken;
    expect(timeout.aborted).toBe(false);
  });

  test('a-paused-writer-does-not-keep-the-head-for-ever', async () => {
    const store = await openForTest(url);
    const paused = new Client(poolConfig({ connectionString: url }, 'write'));
    paused.on('error', () => {}); // its session is ended by the server: that is the point
    await paused.connect();
    await paused.query('BEGIN');
    await paused.query('UPDATE muster.head SET revision = revision + 1');
    const { position } = await snapshotOf(store);
    expect(await mustWrite(store, batch([put('after-the-pause')]))).toBe(position.revision + 1);
  });
});
