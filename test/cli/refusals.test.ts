// What goes wrong between the command line and a server, as people and scripts see it: a sentence on standard error,
// nothing on standard output, a code.
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runWords } from '../../src/cli/output/terminal-fixture.ts';
import { freePort } from '../free-port.ts';
import { newFolder, run, startServer } from './muster.ts';

const server = await startServer(newFolder());

const file = (name: string, text: string): string => {
  const path = join(server.data, name);
  writeFileSync(path, text);
  return path;
};

describe('what the server refuses is 1, in its own sentences', () => {
  test.each<[why: string, args: string[], sentence: string]>([
    ['not there', ['hosts', 'show', 'nobody'], 'There is no host "nobody"'],
    [
      'a field that is not known',
      ['hosts', 'join', '-f', file('typo.yaml', '[{name: c1, zonee: a}]')],
      'did you mean "zone"?',
    ],
    ['a name that is not one', ['hosts', 'join', 'Not A Name'], '/hosts/0/name'],
    [
      'a site that is not there',
      ['hosts', 'join', 'c1', '--site', 'mars'],
      'There is no site "mars". Name one of "muster sites list", or have an administrator create it with "muster sites create mars".',
    ],
    [
      'an option out of bounds, by its name',
      ['instances', 'create', 'x', '--flavor', 'small', '--network', 'lan', '--count', '100000'],
      'This is not accepted: --count must be <= 200.',
    ],
    ['an argument, by its name', ['sites', 'create', 'Not_A_Name'], 'This is not accepted: <name> must be a name'],
    ['twice', ['hosts', 'join', 'c1', 'c1'], 'Named more than once: c1. Nothing was changed.'],
    ['a kind that is not known', ['watch', '--kind', 'hosst'], 'There is no kind "hosst" (did you mean "host"?)'],
    ['a setting out of bounds', ['settings', 'set', 'retention', 'historyDays=0'], 'historyDays'],
    ['the last admin', ['token', 'revoke', 'admin-of-nothing'], 'There is no token "admin-of-nothing"'],
    ['an operation that is not there', ['operations', 'cancel', 'op-1'], 'There is no operation "op-1"'],
    ['a state that is not known', ['hosts', 'list', '--state', 'sleeping'], 'must be one of'],
  ])('%s', async (_why, args, sentence) => {
    const ended = await runWords([...args, '--server', server.url, '--data', server.data]);
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain(sentence);
  });

  test('several problems are printed one a line', async () => {
    const { err } = await server.muster('hosts', 'join', '-f', file('two.yaml', '[{name: c1, zonee: a}, {zone: b}]'));
    expect(err).toMatch(/^This is not accepted:\n( {2}\/hosts\/\d\/\w+ .*\n){2,}$/);
  });

  test('without a token it says where to get one', async () => {
    const elsewhere = newFolder();
    const ended = await run(['--server', server.url, 'hosts', 'list'], { cwd: elsewhere });
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain(
      "There is no data/admin-token. Name the server's data folder with --data, or give a token",
    );
  });

  test('something else than a Muster server is named as such', async () => {
    const other = await new Promise<Server>((made) => {
      const one = createServer((_, response) => response.writeHead(404).end('<html>')).listen(0, '127.0.0.1', () =>
        made(one),
      );
    });
    const { port } = other.address() as AddressInfo;
    const ended = await run(['--server', `http://127.0.0.1:${port}`, 'hosts', 'list']);
    other.close();
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain('Is --server the address of a Muster server?');
  });
});

describe('a server that cannot be reached is 3', () => {
  let silent: Server;
  beforeAll(async () => {
    silent = createServer(() => undefined);
    await new Promise<void>((made) => silent.listen(0, '127.0.0.1', made));
  });
  afterAll(() => {
    silent.closeAllConnections();
    silent.close();
  });

  test('nothing listens there', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const ended = await run(['--server', url, 'hosts', 'list']);
    expect(ended).toMatchObject({ code: 3, out: '' });
    expect(ended.err).toContain(`No Muster server answers at ${url}: nothing listens there.`);
  });

  test('there is no such name', async () => {
    const ended = await run(['--server', 'muster.invalid:7070', 'sites', 'list']);
    expect(ended).toMatchObject({ code: 3, out: '' });
  });

  test('it does not answer in time', async () => {
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const ended = await run(['--server', url, '--request-timeout', '300ms', 'hosts', 'list']);
    expect(ended).toMatchObject({ code: 3, out: '' });
    expect(ended.err).toContain('did not answer within 0.3 s.');
  });

  test('the environment names the server and the token', async () => {
    const env = { MUSTER_SERVER: server.url, MUSTER_TOKEN: 'mst_tk-1_wrongwrongwrongwrong' };
    expect(await run(['sites', 'list'], { env })).toMatchObject({ code: 1 });
    const tokenFile = ['--token-file', join(server.data, 'admin-token')];
    expect(await run(['sites', 'list', ...tokenFile], { env })).toMatchObject({ code: 0 });
  });
});
