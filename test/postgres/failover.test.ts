// Taking over the deciding lease: at once when the holder's session has ended, by the clock when it has not, and never so
// that two holders commit.
import { Client } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { batch, mustWrite, put } from '../../src/journal/contract/world.ts';
import type { Fence, Lease, LeaseRequest, Store } from '../../src/journal/store.ts';
import { Proxy } from './proxy.ts';
import { primaryAndStandby, untilReplayed } from './standby-pair.ts';
import { withRetries, freshDatabase, openForTest, postgresSuite, sql } from './suite.ts';

const LONG_MS = 600_000;
const SHORT_MS = 1000;

const by = (holder: string, ttlMs = LONG_MS): LeaseRequest => ({
  name: 'fleet',
  holder,
  url: `http://${holder}`,
  ttlMs,
});

async function take(store: Store, request: LeaseRequest): Promise<Lease> {
  const answer = await store.acquireLease(request);
  if (answer.kind !== 'held') throw new Error(`refused: ${JSON.stringify(answer.lease)}`);
  return answer.lease;
}

const fenceOf = ({ name, epoch, holder }: Lease): Fence => ({ lease: name, epoch, holder });
const writeUnder = (store: Store, lease: Lease) => store.write({ fence: fenceOf(lease), batches: [batch([put('a')])] });

postgresSuite('postgres-failover', (postgres) => {
  let url: string;
  beforeEach(async () => {
    url = await freshDatabase(postgres.url);
  });

  /** As when the process at the other end was killed: its system closes the connection. */
  const endHoldersSession = (): Promise<unknown> =>
    sql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_locks
       WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );

  test('a-holder-whose-session-ended-is-succeeded-though-its-lease-is-good-and-its-commits-are-refused', async () => {
    const [holder, follower] = [await openForTest(url), await openForTest(url)];
    const first = await take(holder, by('s1'));
    expect(await writeUnder(holder, first)).toMatchObject({ kind: 'written' });
    expect(await follower.acquireLease(by('s2'))).toMatchObject({ kind: 'refused', lease: { epoch: first.epoch } });

    const timeout = AbortSignal.timeout(30_000);
    const vacant = follower.awaitVacancy({ name: 'fleet', signal: timeout });
    await endHoldersSession();
    await vacant;
    expect(timeout.aborted).toBe(false);
    const second = await take(follower, by('s2'));
    expect(second.epoch).toBe(first.epoch + 1);
    // The holder's other connections are as good as ever.
    expect(await writeUnder(holder, first)).toMatchObject({ conflict: { kind: 'lease', actualEpoch: second.epoch } });
    expect(await withRetries(() => holder.renewLease({ ...by('s1'), epoch: first.epoch }))).toMatchObject({
      kind: 'refused',
      lease: { holder: 's2' },
    });
    expect(await writeUnder(follower, second)).toMatchObject({ kind: 'written', revision: 2 });
  });

  test('a-holder-that-loses-its-session-is-notified-and-keeps-the-lease-when-it-renews-first', async () => {
    const [holder, follower] = [await openForTest(url), await openForTest(url)];
    const first = await take(holder, by('s1'));
    const timeout = AbortSignal.timeout(30_000);
    const vacancy = holder.awaitVacancy({ name: 'fleet', signal: timeout });
    await endHoldersSession();
    await vacancy;
    expect(timeout.aborted).toBe(false);
    expect(await withRetries(() => holder.renewLease({ ...by('s1'), epoch: first.epoch }))).toMatchObject({
      kind: 'held',
    });
    expect(await follower.acquireLease(by('s2'))).toMatchObject({ kind: 'refused', lease: { holder: 's1' } });
    expect(await writeUnder(holder, first)).toMatchObject({ kind: 'written' });
  });

  test('a-holder-that-stopped-is-succeeded-by-the-clock-and-its-session-stands-in-nobodys-way', async () => {
    const [stopped, second, third] = [await openForTest(url), await openForTest(url), await openForTest(url)];
    const stale = await take(stopped, by('s1', SHORT_MS)); // and never renews; its session lives on
    const timeout = AbortSignal.timeout(30_000);
    await second.awaitVacancy({ name: 'fleet', signal: timeout });
    expect(timeout.aborted).toBe(false);
    const lease = await take(second, by('s2'));
    expect(lease.epoch).toBe(stale.epoch + 1);
    expect(await third.acquireLease(by('s3'))).toMatchObject({ kind: 'refused', lease: { holder: 's2' } });
    const vacant = third.awaitVacancy({ name: 'fleet', signal: timeout });
    await second.close();
    await vacant;
    expect(timeout.aborted).toBe(false);
    expect((await take(third, by('s3'))).epoch).toBe(lease.epoch + 1);
    expect(await writeUnder(stopped, stale)).toMatchObject({ conflict: { kind: 'lease' } });
  });

  test('a-lease-that-is-given-back-is-announced', async () => {
    const [holder, follower] = [await openForTest(url), await openForTest(url)];
    const { epoch } = await take(holder, by('s1'));
    const listening = new Client({ connectionString: url });
    await listening.connect();
    onTestFinished(() => listening.end());
    const payloads: (string | undefined)[] = [];
    listening.on('notification', ({ payload }) => payloads.push(payload));
    await listening.query('LISTEN muster_head');
    const vacant = follower.awaitVacancy({ name: 'fleet', signal: AbortSignal.timeout(30_000) });
    await holder.releaseLease('fleet', epoch);
    await vacant;
    await listening.query('SELECT 1');
    expect(payloads).toEqual(['lease-given-back']);
    expect((await take(follower, by('s2'))).epoch).toBe(epoch + 1);
    await holder.releaseLease('fleet', epoch); // a stale one announces nothing
    await listening.query('SELECT 1');
    expect(payloads).toHaveLength(1);
  });

  test('neither-readers-nor-writers-delay-a-renewal', async () => {
    const store = await openForTest(url);
    const { epoch } = await take(store, by('s1'));
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    onTestFinished(() => blocker.end());
    await blocker.query('BEGIN; LOCK TABLE muster.commit_log; UPDATE muster.head SET revision = revision');
    const reads = Array.from({ length: 20 }, () => store.read({ revision: 0 }, 10).catch(() => 'failed'));
    const write = store.write({ batches: [batch([put('a')])] });
    expect(await store.renewLease({ ...by('s1'), epoch })).toMatchObject({ kind: 'held' });
    await blocker.query('ROLLBACK');
    await Promise.all([...reads, write]);
  });

  test('a-follower-that-waits-holds-back-no-clean-up-of-old-rows', async () => {
    const [holder, follower] = [await openForTest(url), await openForTest(url)];
    await take(holder, by('s1'));
    const over = new AbortController();
    const waiting = follower.awaitVacancy({ name: 'fleet', signal: over.signal });
    const old = `SELECT count(*)::int AS statements FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'muster' AND state <> 'idle'
        AND query_start < clock_timestamp() - interval '1 second'`;
    for (let look = 0; look < 8; look += 1) {
      expect(await sql(url, `SELECT pg_sleep(0.25)`)).toHaveLength(1);
      expect(await sql(url, old)).toEqual([{ statements: 0 }]);
    }
    over.abort();
    await waiting;
  });

  test('a-primary-that-falls-silent-is-left-for-the-one-that-was-promoted', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const proxy = new Proxy(primary.port);
    await proxy.start();
    onTestFinished(() => proxy.stop());
    const { port } = new URL(proxy.through(primary.url));
    const hosts = `127.0.0.1:${port},127.0.0.1:${standby.port}`;
    const store = await openForTest(`${primary.url.replace(`127.0.0.1:${primary.port}`, hosts)}?connect_timeout=1`);
    await take(store, by('s1'));
    await mustWrite(store, batch([put('before')]));
    await untilReplayed(primary, standby);
    proxy.freeze();
    const silenced = store.write({ batches: [batch([put('lost')])] }).catch((error: unknown) => error);
    await sql(standby.url, 'SELECT pg_promote()');
    // A request for the lease finds it; the write that waits gets the same error.
    expect(await withRetries(() => take(store, by('s1')))).toMatchObject({ holder: 's1' });
    expect(await silenced).toMatchObject({ code: 'store-unavailable', outcome: 'unknown' });
    expect(await withRetries(() => mustWrite(store, batch([put('after')])))).toBe(2);
  });
});
