// Why a server does not start: each cause with what to do about it, and no other advice.
import { expect, test } from 'vitest';
import { StoreUnavailable, StoreUnusable } from '../journal/index.ts';
import { cannotListen, cannotOpenFolder, cannotOpenStore } from './start-failure.ts';

const failed = (code: string): Error => Object.assign(new Error('x'), { code });

test.each([
  ['EACCES', 'it may not be written to. Make it writable, or name another with --data.'],
  ['ENOTDIR', 'it is not a folder. Move away what is there, or name another with --data.'],
  ['ENOENT', 'no folder can be made there. Make the folder around it, or name another with --data.'],
  ['ENOSPC', 'the disk is full. Free some space there, or name another with --data.'],
])('a-data-folder: %s', (code, words) => {
  expect(cannotOpenFolder('/d', failed(code)).message).toBe(`The data folder /d cannot be used: ${words}`);
});

test.each([
  ['EADDRINUSE', 'Stop it, or choose another address with --listen.'],
  ['EADDRNOTAVAIL', 'Name one that it has with --listen, or 0.0.0.0 for all.'],
  ['EACCES', 'Choose a higher one with --listen, or grant CAP_NET_BIND_SERVICE.'],
])('an-address: %s', (code, words) => {
  expect(cannotListen('1.2.3.4:80', failed(code)).message).toContain(words);
});

test.each<[string, Error, string]>([
  [
    'that-is-away',
    new StoreUnavailable('PostgreSQL: gone', { outcome: 'failed' }),
    'See that it runs and can be reached, or name another with --store.',
  ],
  [
    'with-another-password',
    new StoreUnusable('postgres-refused', 'PostgreSQL refuses this program: no'),
    'Check the user, the password',
  ],
  [
    'that-is-damaged',
    new StoreUnusable('sqlite-corrupt', 'SQLite: damaged'),
    'Restore a backup into another data folder with "muster restore"; what SQLite cannot read, --accept-loss cannot accept.',
  ],
  // Its own sentence says what to do.
  [
    'that-is-newer',
    new StoreUnusable('schema-too-new', 'schema 9: run a newer Muster'),
    'schema 9: run a newer Muster.',
  ],
])('a-store %s', (_, error, words) => {
  const { message } = cannotOpenStore('pg', error) ?? {};
  expect(message).toMatch(/^The store pg cannot be used: /);
  expect(message).toContain(words);
});

test('a-bug-is-shown-as-it-is', () => expect(cannotOpenStore('pg', new TypeError('x'))).toBeUndefined());
