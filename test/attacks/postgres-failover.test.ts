// A holder that falls silent in the middle of a commit, a successor, and a client that repeats its request with its key: it is carried
// out once, whichever server has it, and the old holder comes back to nothing that it could still write.
import { expect, onTestFinished, test } from 'vitest';
import { TOKEN } from '../../src/access/index.ts';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import type { Store } from '../../src/journal/store.ts';
import { takeLease, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';
import { Proxy } from '../postgres/proxy.ts';
import { freshDatabase, postgresSuite, sql } from '../postgres/suite.ts';

postgresSuite('a holder that falls silent in the middle of a commit', (postgres) => {
  async function servers(): Promise<{
    proxy: Proxy;
    url: string;
    old: ApiTestServer;
    next: ApiTestServer;
    nextStore: Store;
  }> {
    const url = await freshDatabase(postgres.url);
    const proxy = new Proxy(Number(new URL(url).port));
    await proxy.start();
    onTestFinished(() => proxy.stop());
    const open = (connectionString: string) => openPostgresStore({ connectionString });
    const old = await startApiTestServer({ store: await open(proxy.through(url)) });
    onTestFinished(() => old.close());
    const nextStore = await open(url);
    const next = await startApiTestServer({ store: nextStore, leads: false });
    onTestFinished(() => next.close());
    return { proxy, url, old, next, nextStore };
  }

  const named = ({ journal }: ApiTestServer, name: string): string[] =>
    [...journal.fleet.all(TOKEN)].filter(({ doc }) => doc.name === name).map(({ id }) => id);
  const make = (world: ApiTestServer, secret: string, name = 'ci') =>
    world.call(secret, {
      ...{ method: 'POST' as const, url: '/api/v1/tokens', payload: { name, role: 'viewer' } },
      headers: { 'idempotency-key': `key-${name}` },
    });
  const headOf = async (url: string): Promise<number> => {
    const [row] = await sql<{ revision: string }>(url, 'SELECT revision FROM muster.head');
    return Number(row?.revision);
  };

  test.each(['before-server', 'after-server'] as const)(
    'never: what is repeated at its successor is done twice (%s)',
    async (when) => {
      const { proxy, url, old, next, nextStore } = await servers();
      const admin = await old.token('admin');
      const before = old.journal.fleet.revision;
      proxy.cutOnce({ at: 'write_group', when, freeze: true });
      const request = make(old, admin);
      if (when === 'after-server') await expect.poll(() => headOf(url), { timeout: 20_000 }).toBe(before + 1);
      // Its time is up, and the next server takes over.
      await nextStore.releaseLease('fleet', old.journal.fence?.epoch ?? 0);
      await takeLease(next, 'http://127.0.0.1:2');
      const repeated = await make(next, admin);
      expect(repeated.statusCode).toBe(201);
      const { id } = repeated.json<{ id: string }>();
      expect(named(next, 'ci')).toEqual([id]);
      proxy.thaw();
      // The first caller is answered that it was done, or that the outcome is unknown; never that nothing was, when it was.
      const first = await request;
      if (first.statusCode === 201) expect(first.json()).toMatchObject({ id });
      else if (when === 'after-server') expect(first.json()).toMatchObject({ status: 503, outcome: 'unknown' });
      else expect(first.statusCode).toBe(503);
      await expect.poll(() => named(old, 'ci'), { timeout: 20_000 }).toEqual([id]);
      expect(named(next, 'ci')).toEqual([id]);
      const late = await make(old, admin, 'late');
      expect(late.json()).toMatchObject({ status: 503, outcome: 'failed' });
      expect(old.journal.fence).toBeUndefined();
      expect(named(next, 'late')).toEqual([]);
    },
  );

  test('every session is ended again and again under writes: each key is done once', async () => {
    const { url, old } = await servers();
    const admin = await old.token('admin');
    const names = Array.from({ length: 30 }, (_, nth) => `n${nth}`);
    const cut = async (): Promise<number> => {
      const ended = await sql(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'muster' AND query ~ 'write_group'`,
      );
      return ended.length;
    };
    const over = new AbortController();
    // The session that wrote the token, before anything is requested.
    expect(await cut()).toBeGreaterThan(0);
    const cutting = (async () => {
      while (!over.signal.aborted) await cut();
    })();
    const ids = new Map<string, string>();
    await Promise.all(
      names.map(async (name) => {
        for (let tries = 0; tries < 200 && !ids.has(name); tries += 1) {
          const answer = await make(old, admin, name);
          if (answer.statusCode === 201) ids.set(name, answer.json<{ id: string }>().id);
          else expect(answer.statusCode).toBe(503);
          if (tries === 10) over.abort();
        }
      }),
    );
    over.abort();
    await cutting;
    for (const name of names) expect([name, named(old, name)]).toEqual([name, [ids.get(name)]]);
  });
});
