// Several PostgreSQL hosts in one URL: the one that accepts writes is used, and looked for anew after every loss.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { batch, mustWrite, put, readAll, snapshotOf } from '../../src/journal/contract/world.ts';
import type { PostgresCluster } from './cluster.ts';
import { freePort } from '../free-port.ts';
import { primaryAndStandby, untilReplayed } from './standby-pair.ts';
import { withRetries, openForTest, postgresSuite, sql } from './suite.ts';

/** The URL of the first with the addresses of all. */
function listed(cluster: PostgresCluster, ports: readonly number[], query = ''): string {
  const addresses = ports.map((port) => `127.0.0.1:${port}`).join(',');
  return `${cluster.url.replace(`127.0.0.1:${cluster.port}`, addresses)}${query}`;
}

/** Takes connections and never answers. */
async function blackHole(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

postgresSuite('postgres-hosts', (postgres) => {
  test('the-host-that-accepts-writes-is-used-wherever-it-stands-in-the-list', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const unusedPort = await freePort();
    const store = await openForTest(listed(primary, [unusedPort, standby.port, primary.port]));
    expect(await mustWrite(store, batch([put('a')]))).toBe(1);

    const silent = await blackHole();
    const none = openPostgresStore({
      connectionString: listed(primary, [unusedPort, standby.port, silent], '?connect_timeout=1'),
    });
    await expect(none).rejects.toMatchObject({ code: 'store-unavailable' });
    await expect(none).rejects.toThrow(
      `none of 3 PostgreSQL hosts can be used: 127.0.0.1:${unusedPort}: nothing listens there; ` +
        `127.0.0.1:${standby.port} is a standby; 127.0.0.1:${silent}: no answer within 1 s`,
    );
  });

  test('a-standby-that-is-promoted-is-found-after-the-primary-is-lost', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const url = listed(primary, [primary.port, standby.port]);
    const [writer, follower] = [await openForTest(url), await openForTest(url)];
    await mustWrite(writer, batch([put('before')]));
    await untilReplayed(primary, standby);
    await primary.stop();
    await sql(standby.url, 'SELECT pg_promote()');

    expect(await withRetries(() => mustWrite(writer, batch([put('after')])))).toBe(2);
    expect((await withRetries(() => readAll(follower))).map((one) => one.revision)).toEqual([1, 2]);
    // Notifications come from the new primary too.
    const timeout = AbortSignal.timeout(30_000);
    await readEvents(follower, timeout, () => mustWrite(writer, batch([put('received')])));
    expect(timeout.aborted).toBe(false);
  });

  test('a-primary-that-no-longer-accepts-writes-is-left-though-its-connections-live', async () => {
    const { primary, standby } = await primaryAndStandby(postgres.binDir);
    const store = await openForTest(listed(primary, [primary.port, standby.port]));
    await mustWrite(store, batch([put('before')]));
    await untilReplayed(primary, standby);
    await sql(standby.url, 'SELECT pg_promote()');
    await sql(primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await sql(primary.url, 'SELECT pg_reload_conf()');
    const readOnly = `SELECT current_setting('default_transaction_read_only') AS value`;
    while ((await sql<{ value: string }>(primary.url, readOnly))[0]?.value !== 'on') await setTimeout(20);

    expect(await withRetries(() => mustWrite(store, batch([put('after')])))).toBe(2);
    expect(await sql(standby.url, 'SELECT revision::int FROM muster.head')).toEqual([{ revision: 2 }]);
    expect(await sql(primary.url, 'SELECT revision::int FROM muster.head')).toEqual([{ revision: 1 }]);
  });
});

/** Writes until a notification of it wakes the follower: the listener may still be on its way to the new primary. */
async function readEvents(
  follower: Awaited<ReturnType<typeof openForTest>>,
  timeout: AbortSignal,
  write: () => Promise<unknown>,
): Promise<void> {
  for (let woken = false; !woken && !timeout.aborted;) {
    const { position } = await snapshotOf(follower);
    const patience = AbortSignal.any([timeout, AbortSignal.timeout(2000)]);
    const waking = follower.waitForChange(position.revision, patience).then(() => !patience.aborted);
    await write();
    woken = await waking;
  }
}
