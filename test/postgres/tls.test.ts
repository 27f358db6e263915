// Encrypted connections to PostgreSQL, verified as libpq documents its modes.
import { expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../src/journal/postgres/store.ts';
import { batch, mustWrite, put } from '../../src/journal/contract/world.ts';
import { type PostgresCluster, startCluster } from './cluster.ts';
import { freshDatabase, openForTest, postgresSuite } from './suite.ts';
import { type TestCa, testCa } from './test-ca.ts';

postgresSuite('postgres-tls', (postgres) => {
  async function cluster(tls: NonNullable<Parameters<typeof startCluster>[0]['tls']>): Promise<PostgresCluster> {
    const started = await startCluster({ binDir: postgres.binDir, tls });
    onTestFinished(() => started.stop());
    return started;
  }

  const answers = async (url: string): Promise<string> => {
    try {
      const store = await openForTest(url);
      await mustWrite(store, batch([put('a')]));
      return 'accepted';
    } catch (error) {
      return (error as Error).message;
    }
  };

  const named = (url: string, host: string): string => url.replace('127.0.0.1', host);

  test('each-mode-verifies-what-it-says', async () => {
    const [ca, other] = [await testCa(), await testCa()];
    // The name is that of the address; `localhost` is another name for the same server.
    const server = await ca.issue('db', 'IP:127.0.0.1');
    const { url } = await cluster(server);
    const by = (authority: TestCa): string => `sslrootcert=${authority.certFile}`;
    expect(await answers(`${url}?sslmode=require`)).toBe('accepted');
    expect(await answers(`${url}?sslmode=prefer`)).toBe('accepted');
    expect(await answers(url)).toBe('accepted');
    expect(await answers(`${url}?sslmode=verify-full&${by(ca)}`)).toBe('accepted');
    expect(await answers(`${named(url, 'localhost')}?sslmode=verify-ca&${by(ca)}`)).toBe('accepted');

    expect(await answers(`${named(url, 'localhost')}?sslmode=verify-full&${by(ca)}`)).toContain('does not match');
    for (const mode of ['verify-full', 'verify-ca', 'require']) {
      expect(await answers(`${url}?sslmode=${mode}&${by(other)}`)).toMatch(/certificate/);
    }
    expect(await answers(`${url}?sslmode=verify-full&sslrootcert=system`)).toMatch(/certificate/);
    expect(await answers(`${url}?sslmode=disable`)).toContain('no encryption');
    expect(await answers(`${url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`)).toContain(
      'sslrootcert /nowhere/ca.pem cannot be read',
    );
  });

  test('a-client-shows-its-certificate', async () => {
    const ca = await testCa();
    const [server, client] = [await ca.issue('db', 'IP:127.0.0.1'), await ca.issue('muster', 'DNS:muster')];
    const { url } = await cluster({ ...server, ca: ca.cert });
    const full = `${url}?sslmode=verify-full&sslrootcert=${ca.certFile}`;
    expect(await answers(full)).toMatch(/certificate/);
    expect(await answers(`${full}&sslcert=${client.certFile}&sslkey=${client.keyFile}`)).toBe('accepted');
  });

  test('a-server-without-tls-is-used-by-prefer-and-refused-by-require', async () => {
    const url = await freshDatabase(postgres.url);
    expect(await answers(`${url}?sslmode=prefer`)).toBe('accepted');
    expect(await answers(`${url}?sslmode=require`)).toContain('does not support SSL');
  });

  test('a-parameter-that-is-not-known-is-refused-before-anything-is-opened', async () => {
    const { url } = postgres;
    await expect(openPostgresStore({ connectionString: `${url}?sslmod=require` })).rejects.toMatchObject({
      code: 'store-url',
      message: expect.stringContaining('the parameter sslmod is not known') as string,
    });
  });
});
