// A standby that lagged behind is promoted: commits that were acknowledged are gone, and whoever followed them must notice.
import { expect, onTestFinished, test } from 'vitest';
import { batch, mustWrite, put, readAll, snapshotOf } from '../../src/journal/contract/world.ts';
import type { PostgresCluster } from './cluster.ts';
import { Proxy } from './proxy.ts';
import { primaryAndStandby, stopReceiving, untilReplayed } from './standby-pair.ts';
import { withRetries, openForTest, postgresSuite, sql } from './suite.ts';

postgresSuite('postgres-standby', (postgres) => {
  test('a-promoted-standby-that-lagged-is-noticed-by-the-commit-id', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const proxy = await before(primary);
    const store = await openForTest(proxy.through(primary.url));
    const common = await mustWrite(store, batch([put('a')]), batch([put('b')]));
    await untilReplayed(primary, standby);
    await stopReceiving(primary, standby);

    const lost = [batch([put('lost-1')]), batch([put('lost-2')])];
    await mustWrite(store, ...lost);
    const { position } = await snapshotOf(store);
    await sql(standby.url, 'SELECT pg_promote()');
    proxy.pointTo(standby.port);

    expect(await withRetries(() => store.read(position, 10))).toEqual({ kind: 'diverged', head: common });
    // Once the new primary has grown past the position, only the commit id shows it.
    const others = ['c', 'd', 'e'].map((id) => batch([put(id)]));
    expect(await mustWrite(store, ...others)).toBe(common + 3);
    expect(await store.read(position, 10)).toEqual({ kind: 'diverged', head: common + 3 });
    expect((await readAll(store)).slice(common).map((one) => one.id)).toEqual(others.map((one) => one.id));
  });

  test('a-standby-that-is-not-promoted-refuses-writes-clearly', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const proxy = await before(primary);
    const store = await openForTest(proxy.through(primary.url));
    await mustWrite(store, batch([put('a')]));
    await untilReplayed(primary, standby);
    proxy.pointTo(standby.port);
    await withRetries(() => store.read({ revision: 0 }, 10));
    await expect(store.write({ batches: [batch([put('b')])] })).rejects.toMatchObject({ outcome: 'failed' });
  });
});

async function before(primary: PostgresCluster): Promise<Proxy> {
  const proxy = new Proxy(primary.port);
  await proxy.start();
  onTestFinished(() => proxy.stop());
  return proxy;
}
