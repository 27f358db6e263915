// Several servers on one PostgreSQL, as operators run them: any of them takes a write, and one goes when another is killed.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshDatabase, postgresSuite } from '../postgres/suite.ts';
import { type Ended, newFolder, run, type ServerProcess, startServer } from './muster.ts';

postgresSuite('several servers on PostgreSQL', (postgres) => {
  test('a write at any server counts at all of them; kill -9 of the holder, and the other decides', async () => {
    const store = await freshDatabase(postgres.url);
    // One control plane has one set of keys, whichever server it is.
    const keys = newFolder();
    const server = (): Promise<ServerProcess> => startServer(newFolder(), '--store', store, '--keys', keys);
    const first = await server();
    const second = await server();
    const token = ['--token-file', join(first.data, 'admin-token')];
    const at = ({ url }: ServerProcess, ...words: string[]): Promise<Ended> =>
      run(['--server', url, ...token, ...words]);

    expect(second.err()).not.toContain('this server decides');
    expect(await at(second, 'sites', 'create', 'north')).toMatchObject({ code: 0 });
    expect((await at(first, 'sites', 'list')).out).toContain('north');
    expect((await at(second, 'token', 'list', '--role', 'admin')).out.trim().split('\n')).toHaveLength(2);

    await first.stop('SIGKILL');
    // The command repeats the request until the lease has run out and the other server has taken it.
    expect(await at(second, 'sites', 'create', 'south', '--request-timeout', '30s')).toMatchObject({ code: 0 });
    expect(second.err()).toContain('this server decides');

    const third = await server();
    expect(await second.stop('SIGTERM')).toMatchObject({ code: 0 });
    // A clean stop hands the lease back: it need not run out.
    await third.said(/this server decides/);
    expect((await at(third, 'sites', 'list')).out).toMatch(/central[^]*north[^]*south/);
    expect(await third.stop()).toMatchObject({ code: 0 });
  });
});
