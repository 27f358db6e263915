import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { runWords } from '../output/terminal-fixture.ts';
import { findToken, tokenAdvice } from './token-file.ts';

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
    [
      'never: the token of this machine is looked for on behalf of another',
      { mayReadDataFolder: false, env: {} },
      undefined,
    ],
  ])('%s', (_, sources, wanted) => {
    expect(findToken({ data, mayReadDataFolder: true, ...sources })).toBe(wanted);
  });

  test.each([
    ['--token', { token: 'mst_a SECRET', env: {} }],
    ['the file', { tokenFile: join(data, 'two'), env: {} }],
    ['MUSTER_TOKEN', { env: { MUSTER_TOKEN: 'mst_ä_SECRET' } }],
  ])('never: what is no token alone is shown, or sent: from %s', async (_, sources) => {
    writeFileSync(join(data, 'two'), 'Your token is\nmst_a_SECRET\n');
    expect(() => findToken({ data, mayReadDataFolder: true, ...sources })).toThrow(/is not a token alone/);
    const { code, err } = await runWords(['sites', 'list', '--token-file', join(data, 'two'), '--data', data]);
    expect(code).toBe(2);
    expect(err).toContain(join(data, 'two'));
    expect(err).not.toContain('SECRET');
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
    expect((await runWords(['sites', 'list', '--server', `http://127.0.0.1:${port}`, ...named])).code).toBe(0);
    expect((await runWords(['sites', 'list', '--server', `http://0.0.0.0:${port}`, ...named])).code).toBe(0);
    expect((await runWords(['sites', 'list', '--server', `http://0.0.0.0:${port}`])).code).toBe(0);
    expect(seen).toEqual(['Bearer from-the-folder', 'Bearer from-the-folder', undefined]);
  });

  test('a folder without one says what to do, in words that name the file', async () => {
    const refusing = createServer((_, response) => {
      const body = JSON.stringify({ code: 'no-token', detail: 'This needs a token.' });
      response.writeHead(401, { 'content-type': 'application/problem+json' }).end(body);
    });
    await new Promise<void>((listening) => refusing.listen(0, '127.0.0.1', listening));
    onTestFinished(() => {
      refusing.closeAllConnections();
      refusing.close();
    });
    const { port } = refusing.address() as AddressInfo;
    const args = ['sites', 'list', '--server', `http://127.0.0.1:${port}`];
    const { code, err } = await runWords([...args, '--data', '/nowhere']);
    expect(code).toBe(1);
    expect(err).toMatchInlineSnapshot(`
      "This needs a token.
      There is no /nowhere/admin-token. Name the server's data folder with --data, or give a token with --token, --token-file or MUSTER_TOKEN. If it is lost, "muster serve --new-admin-token" on that folder makes another.
      "
    `);
    expect((await runWords([...args, '--data', '/nowhere', '--token', 'mst_x'])).err).toMatchInlineSnapshot(`
      "This needs a token.
      Give another token with --token, --token-file or MUSTER_TOKEN.
      "
    `);
  });

  test('a file that is there and not ours, and a server elsewhere, have advice of their own', () => {
    expect(tokenAdvice({ data, mayReadDataFolder: true })).toBe(
      `${join(data, 'admin-token')} may not be read. Do this as its owner, or give a token with --token, --token-file or MUSTER_TOKEN.`,
    );
    expect(tokenAdvice({ data, mayReadDataFolder: false })).toBe(
      'Give a token with --token, --token-file or MUSTER_TOKEN. The first one is in the file "admin-token" of the server\'s data folder.',
    );
  });
});
