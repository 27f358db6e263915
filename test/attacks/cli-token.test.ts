// The admin token of this machine's server, which the command line finds by itself, goes to this machine alone.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newFolder, run, type Ended } from '../cli/muster.ts';

const SECRET = 'mst_local-admin-token';
const seen: { host: string | undefined; authorization: string | undefined }[] = [];
let answer: { status: number; headers: Record<string, string> };
const server = createServer((request: IncomingMessage, response) => {
  seen.push({ host: request.headers.host, authorization: request.headers.authorization });
  response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end('{"items":[]}');
});
let port: number;
const cwd = newFolder();
/** Makes every name lead to this machine, as an attacker's DNS may, so that a connection shows what would be sent. */
const everyName = join(cwd, 'every-name.mjs');

beforeAll(async () => {
  mkdirSync(join(cwd, 'data'), { mode: 0o700 });
  writeFileSync(join(cwd, 'data', 'admin-token'), `${SECRET}\n`, { mode: 0o600 });
  writeFileSync(
    everyName,
    `import dns from 'node:dns';
dns.lookup = (_name, options, done) =>
  options?.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : (done ?? options)(null, '127.0.0.1', 4);
import { syncBuiltinESMExports } from 'node:module';
syncBuiltinESMExports();
`,
  );
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  ({ port } = server.address() as AddressInfo);
});
beforeEach(() => {
  seen.length = 0;
  answer = { status: 200, headers: {} };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const list = (url: string): Promise<Ended> =>
  run(['sites', 'list', '--server', url], { cwd, env: { NODE_OPTIONS: `--import=${everyName}` } });

describe('the local admin token', () => {
  test.each(['127.evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', 'localhost.'])(
    'does not go to %s',
    async (name) => {
      await list(`http://${name}:${port}`);
      expect(seen).toEqual([{ host: `${name}:${port}`, authorization: undefined }]);
    },
  );

  test.each(['127.0.0.1', '127.1', '2130706433', 'localhost'])('goes to %s', async (name) => {
    expect((await list(`http://${name}:${port}`)).code).toBe(0);
    expect(seen.map(({ authorization }) => authorization)).toEqual([`Bearer ${SECRET}`]);
  });

  test('does not follow a redirect', async () => {
    answer = { status: 307, headers: { location: `http://evil.example:${port}/` } };
    expect((await list(`http://127.0.0.1:${port}`)).code).not.toBe(0);
    expect(seen.map(({ host }) => host)).toEqual([`127.0.0.1:${port}`]);
  });

  test.each(['127.0.0.1@evil.example', 'admin:secret-word@127.0.0.1'])(
    'an address with a user in it (%s) is refused before anything is sent, and not repeated',
    async (authority) => {
      const { code, out, err } = await list(`http://${authority}:${port}`);
      expect({ code, seen }).toEqual({ code: 2, seen: [] });
      expect(out + err).toContain('has no user or password in it');
      expect(out + err).not.toContain('secret-word');
    },
  );
});
