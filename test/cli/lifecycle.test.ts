// A server from its start to its end, however it ends: what was answered is there at the next start.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { type Ended, newFolder, run, signalGroup, start, startServer } from './muster.ts';

const serve = (data: string, ...more: string[]): Promise<Ended> =>
  run(['serve', '--data', data, '--listen', '127.0.0.1:0', ...more]);

describe('starting and stopping', () => {
  test('the first start leaves a token for its owner alone; Ctrl-C stops cleanly, and all is there again', async () => {
    const data = newFolder();
    const first = await startServer(data);
    expect(statSync(join(data, 'admin-token')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(data, 'admin-token'), 'utf8')).toMatch(/^mst_\S+\n$/);
    const { operation } = await first.json<{ operation: string }>('hosts', 'join', 'c1');
    const watch = first.startCommand('watch', '--after', '0');
    await watch.said(/^1 /);
    const stopped = await first.stop();
    expect(stopped).toMatchObject({ code: 0, signal: null });
    expect(stopped.err).toContain('"msg":"stopped"');
    watch.child.kill('SIGKILL');

    const second = await startServer(data);
    expect(await second.json('hosts', 'list')).toMatchObject([{ name: 'c1', state: 'joining' }]);
    expect(await second.json('operations', 'show', operation)).toMatchObject({ state: 'running' });
    expect(await second.json('sites', 'list')).toHaveLength(1);
    expect(await second.json('token', 'list', '--role', 'admin')).toHaveLength(1);
    expect(await second.stop('SIGTERM')).toMatchObject({ code: 0, signal: null });
  });

  test('whoever owns the machine and has lost the token gets a new one', async () => {
    const data = newFolder();
    const first = await startServer(data);
    const lost = readFileSync(join(data, 'admin-token'), 'utf8');
    await first.stop();
    const second = await startServer(data, '--new-admin-token');
    expect(readFileSync(join(data, 'admin-token'), 'utf8')).not.toBe(lost);
    expect(await second.json('token', 'list', '--role', 'admin')).toHaveLength(2);
    await second.stop();
  });

  test('--wait outlives kill -9 of the server: it continues with the next one that answers there', async () => {
    const data = newFolder();
    const first = await startServer(data);
    const waiting = first.startCommand('hosts', 'join', 'c1', '--deadline', '8s', '--wait');
    await waiting.said(/c1 waiting/);
    await first.stop('SIGKILL');
    await waiting.said(/The server does not answer\. Asking again for 30 s\./);
    const second = await startServer(data, '--listen', new URL(first.url).host);
    expect(await waiting.ended).toMatchObject({
      code: 4,
      out: expect.stringContaining('The deadline has passed') as string,
    });
    await second.stop();
  });

  test('kill -9, and the next start continues at once', async () => {
    const data = newFolder();
    const first = await startServer(data);
    const { operation } = await first.json<{ operation: string }>('hosts', 'join', 'c1');
    await first.stop('SIGKILL');
    const second = await startServer(data);
    // The dead holder's lease is not waited for: it decides before it says that it is ready.
    expect(second.err()).toMatch(/"this server decides"[^]*"ready"/);
    expect(await second.muster('sites', 'create', 'north')).toMatchObject({ code: 0 });
    expect(await second.json('operations', 'show', operation)).toMatchObject({ state: 'running' });
    await second.stop();
  });

  test('a second Ctrl-C stops at once', async () => {
    const server = await startServer(newFolder());
    // A request that is begun and never ends holds up the clean stop.
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    const token = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
    socket.write(
      `POST /api/v1/sites HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );
    await server.muster('sites', 'list');
    server.child.kill('SIGINT');
    await server.said(/Stopping; press Ctrl-C once more to stop at once/);
    server.child.kill('SIGINT');
    expect(await server.ended).toMatchObject({ code: 130, err: expect.stringContaining('Stopped at once.') as string });
    socket.destroy();
  });
});

describe('a server that cannot start says why, with 1', () => {
  const refused = async (ended: Promise<Ended>, sentence: string | RegExp): Promise<void> => {
    const { code, out, err } = await ended;
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(sentence);
  };

  test('the data folder is used by another server, and stays usable for it', async () => {
    const server = await startServer(newFolder());
    await refused(serve(server.data), `is used by another Muster server (process ${server.child.pid})`);
    expect(await server.muster('sites', 'list')).toMatchObject({ code: 0 });
    await server.stop();
  });

  test('the port is in use', async () => {
    const server = await startServer(newFolder());
    const address = new URL(server.url).host;
    await refused(
      run(['serve', '--data', newFolder(), '--listen', address]),
      `Cannot listen on ${address}: another program listens there`,
    );
    await server.stop();
  });

  test('the data folder is a file, or lies where nothing can be written', async () => {
    const path = join(newFolder(), 'file');
    writeFileSync(path, '');
    await refused(serve(path), 'it is not a folder');
    await refused(serve('/proc/muster'), 'The data folder /proc/muster cannot be used: no folder can be made there');
  });

  test('the store is newer than the program, or no database at all', async () => {
    const newer = newFolder();
    const database = new DatabaseSync(join(newer, 'muster.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    await refused(serve(newer), 'has schema 99, this program knows schemas up to');
    const other = newFolder();
    writeFileSync(join(other, 'muster.db'), 'this is a letter to my aunt'.repeat(100));
    await refused(serve(other), 'the file is not a SQLite database');
  });

  test('PostgreSQL is not there, and its password is not shown', async () => {
    const store = `postgres://muster:hunter2@127.0.0.1:${await freePort()}/muster`;
    const ended = serve(newFolder(), '--store', store);
    await refused(ended, 'The store postgres://muster@127.0.0.1');
    expect((await ended).err).not.toContain('hunter2');
  });

  test.each([
    ['beyond this machine without TLS', ['--listen', '0.0.0.0:0'], 'Refusing to listen on 0.0.0.0 without TLS'],
    ['not an address', ['--listen', 'somewhere'], '"somewhere" is not an address to listen on'],
    ['half of TLS', ['--tls-cert', 'x'], 'TLS needs both --tls-cert and --tls-key.'],
    ['no certificate', ['--tls-cert', '/nowhere', '--tls-key', '/nowhere'], '--tls-cert /nowhere cannot be read'],
    ['not a store', ['--store', 'mysql://x'], '"mysql://x" is not a store.'],
    ['no address', ['--listen', '0.0.0.0:0', '--insecure', '--store', 'postgres://x'], 'with --advertise.'],
    ['not a URL to be reached at', ['--advertise', 'here'], '"here" is not a URL.'],
  ])('%s', async (_why, more, sentence) => {
    await refused(run(['serve', '--data', newFolder(), '--listen', '127.0.0.1:0', ...more]), sentence);
  });
});

describe('the demonstration', () => {
  const strip = (text: string): string =>
    text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'URL').replaceAll(/\d+\.\d+\.\d+/g, 'VERSION');

  test('npm start prints the address, how to log in and three commands; --demo none is an empty fleet', async () => {
    const root = join(import.meta.dirname, '../..');
    const data = newFolder();
    const npm = start(['start', '--silent', '--', '--demo', 'none', '--data', data, '--listen', '127.0.0.1:0'], {
      command: ['npm'],
      cwd: root,
    });
    await npm.said(/Ctrl-C stops it/);
    const [, url = ''] = /Address +(\S+)/.exec(npm.out()) ?? [];
    expect(strip(npm.out()).replaceAll(data, 'DATA')).toMatchInlineSnapshot(`
      "Muster VERSION runs with an empty fleet.

        Address   URL
        Log in    the command line finds the admin token by itself, here: DATA/admin-token
                  other programs send it as "Authorization: Bearer <token>"

      Try, in another terminal in this folder:

        npx muster --server URL --data DATA hosts list
        npx muster --server URL --data DATA hosts join compute-99 --vcpus 16 --memory 64GiB
        MUSTER_JOIN_TOKEN=$(npx muster --server URL --data DATA hosts join-token compute-99) npx muster agent --simulate --server URL --state ./agent-compute-99
        npx muster --server URL --data DATA watch

      Hosts get simulated agents by themselves with: muster demo --demo none --simulated-agents

      Ctrl-C stops it; the fleet is kept for the next start.

      "
    `);
    const hosts = await run(['hosts', 'list', '--server', url, '--data', data, '--output', 'json']);
    expect(JSON.parse(hosts.out)).toEqual([]);
    signalGroup(npm.child, 'SIGINT');
    expect((await npm.ended).err).toContain('Stopping');
  });

  test('an empty fleet whose hosts get simulated agents when that is set', async () => {
    const data = newFolder();
    const demo = start(['demo', '--demo', 'none', '--simulated-agents', '--data', data, '--listen', '127.0.0.1:0']);
    await demo.said(/Ctrl-C stops it/);
    expect(demo.out()).toContain('runs with an empty fleet.');
    const [, url = ''] = /Address +(\S+)/.exec(demo.out()) ?? [];
    const joined = await run([
      'hosts',
      'join',
      'compute-99',
      '--vcpus',
      '4',
      '--memory',
      '8GiB',
      '--wait',
      '--server',
      url,
      '--data',
      data,
    ]);
    expect(joined.err + joined.out).toContain('succeeded');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toMatchObject({ code: 0 });
  });

  test('the fleet comes into service, and is there at the second start with its agents connected', async () => {
    const data = newFolder();
    const demo = (): ReturnType<typeof start> =>
      start(['demo', '--demo', 'small', '--data', data, '--listen', '127.0.0.1:0']);
    const first = demo();
    await first.said(/operation op-\w+ succeeded: join 3 hosts\./);
    expect(first.out()).toContain('runs with a fleet of 3 hosts and 24 bare-metal nodes.');
    first.child.kill('SIGINT');
    expect(await first.ended).toMatchObject({ code: 0 });
    const second = demo();
    const [, url = ''] = await second.said(/Address +(\S+)/);
    const ask = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await run([...args, '--server', url, '--data', data, '--output', 'json'])).out);
    expect(await ask('hosts', 'list')).toMatchObject([
      { name: 'compute-1', site: 'central', state: 'active' },
      { name: 'compute-2', site: 'central', state: 'active' },
      { name: 'north-1', site: 'north', state: 'active' },
    ]);
    const nodes = (await ask('baremetal', 'nodes', 'list')) as readonly { readonly resourceClass: string }[];
    expect(nodes.map(({ resourceClass }) => resourceClass).filter((one) => one === 'baremetal.gpu')).toHaveLength(8);
    expect(nodes).toHaveLength(24);
    expect(await ask('baremetal', 'managers', 'list')).toMatchObject([{ name: 'm1' }, { name: 'm2' }, { name: 'm3' }]);
    expect(await ask('operations', 'list')).toHaveLength(1);
    // The same credentials, not new ones: nothing was joined again.
    expect(await ask('token', 'list', '--role', 'agent')).toHaveLength(3);
    second.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(second.out()).not.toContain('down');
  });
});
