import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ran } from './terminal-fixture.ts';
import { findToken } from './token-file.ts';

const data = mkdtempSync(join(tmpdir(), 'muster-token-'));
writeFileSync(join(data, 'admin-token'), 'from-the-folder\n');
writeFileSync(join(data, 'other'), 'from-the-file\n');
afterAll(() => rmSync(data, { recursive: true, force: true }));

const env = { MUSTER_TOKEN: 'from-the-environment' };

describe('the token', () => {
  test.each([
    ['what is said comes first', { token: 'said', tokenFile: join(data, 'other'), env }, 'said'],
    ['then the file that is named', { tokenFile: join(data, 'other'), env }, 'from-the-file'],
    ['then the environment', { env }, 'from-the-environment'],
    ['then the data folder', { env: {} }, 'from-the-folder'],
    ['an empty variable is none', { env: { MUSTER_TOKEN: '' } }, 'from-the-folder'],
    ['a folder without one', { data: '/nowhere', env: {} }, undefined],
    ['never: the token of this machine is looked for on behalf of another', { mayLook: false, env: {} }, undefined],
  ])('%s', (_, sources, wanted) => {
    expect(findToken({ data, mayLook: true, ...sources })).toBe(wanted);
  });

  test('never: the token of this machine goes to another one, unless its folder is named', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}');
    });
    await new Promise<void>((listening) => server.listen(0, '0.0.0.0', listening));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const named = ['--data', data];
    expect((await ran(['sites', 'list', '--server', `http://127.0.0.1:${port}`, ...named])).code).toBe(0);
    expect((await ran(['sites', 'list', '--server', `http://0.0.0.0:${port}`, ...named])).code).toBe(0);
    expect((await ran(['sites', 'list', '--server', `http://0.0.0.0:${port}`])).code).toBe(0);
    expect(seen).toEqual(['Bearer from-the-folder', 'Bearer from-the-folder', undefined]);
  });
});
