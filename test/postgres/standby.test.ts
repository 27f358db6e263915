// A standby that lagged behind is promoted: commits that were acknowledged are gone, and whoever followed them must notice.
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { batch, mustWrite, put, readAll, snapshotOf } from '../../src/journal/store-contract-world.ts';
import { type Cluster, startCluster, startStandby } from './cluster.ts';
import { Proxy } from './proxy.ts';
import { again, openForTest, postgresSuite, sql } from './suite.ts';

postgresSuite('postgres-standby', (postgres) => {
  test('a-promoted-standby-that-lagged-is-noticed-by-the-commit-id', async () => {
    const { primary, standby, proxy } = await primaryAndStandby(postgres.binDir);
    const store = await openForTest(proxy.through(primary.url));
    const common = await mustWrite(store, batch([put('a')]), batch([put('b')]));
    await untilReplayed(primary, standby);
    await stopReceiving(primary, standby);

    const lost = [batch([put('lost-1')]), batch([put('lost-2')])];
    await mustWrite(store, ...lost);
    const { position } = await snapshotOf(store);
    await sql(standby.url, 'SELECT pg_promote()');
    proxy.pointTo(standby.port);

    expect(await again(() => store.read(position, 10))).toEqual({ kind: 'diverged', head: common });
    // Once the new primary has grown past the position only the commit id tells.
    const others = ['c', 'd', 'e'].map((id) => batch([put(id)]));
    expect(await mustWrite(store, ...others)).toBe(common + 3);
    expect(await store.read(position, 10)).toEqual({ kind: 'diverged', head: common + 3 });
    expect((await readAll(store)).slice(common).map((one) => one.id)).toEqual(others.map((one) => one.id));
  });

  test('a-standby-that-is-not-promoted-refuses-writes-clearly', async () => {
    const { primary, standby, proxy } = await primaryAndStandby(postgres.binDir);
    const store = await openForTest(proxy.through(primary.url));
    await mustWrite(store, batch([put('a')]));
    await untilReplayed(primary, standby);
    proxy.pointTo(standby.port);
    await again(() => store.read({ revision: 0 }, 10));
    await expect(store.write({ batches: [batch([put('b')])] })).rejects.toMatchObject({ outcome: 'failed' });
  });
});

async function primaryAndStandby(binDir: string) {
  const primary = await startCluster({ binDir });
  onTestFinished(() => primary.stop());
  const standby = await startStandby({ binDir, of: primary });
  onTestFinished(() => standby.stop());
  const proxy = new Proxy(primary.port);
  await proxy.start();
  onTestFinished(() => proxy.stop());
  return { primary, standby, proxy };
}

async function untilReplayed(primary: Cluster, standby: Cluster): Promise<void> {
  const [target] = await sql<{ lsn: string }>(primary.url, 'SELECT pg_current_wal_lsn()::text AS lsn');
  await until(standby, `SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS yes`, [target?.lsn]);
}

/** From here on the standby lags: it has no connection to the primary any more. */
async function stopReceiving(primary: Cluster, standby: Cluster): Promise<void> {
  await sql(standby.url, `ALTER SYSTEM SET primary_conninfo = ''`);
  await sql(standby.url, 'SELECT pg_reload_conf()');
  await until(primary, 'SELECT count(*) = 0 AS yes FROM pg_stat_replication');
}

async function until(cluster: Cluster, text: string, values: readonly unknown[] = []): Promise<void> {
  while ((await sql<{ yes: boolean }>(cluster.url, text, values))[0]?.yes !== true) await setTimeout(20);
}
