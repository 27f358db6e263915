import { describe, expect, test } from 'vitest';
import { isLoopback } from './loopback.ts';

/** As a client gets it from an address that an operator wrote. */
const hostOf = (url: string): string => new URL(url).hostname;

describe('loopback is decided by address', () => {
  test.each([
    'http://127.0.0.1:7070',
    'http://127.255.255.254',
    'http://127.1:7070',
    'http://2130706433',
    'http://0x7f.1',
    'http://[::1]:7070',
    'http://[0:0:0:0:0:0:0:1]',
    'http://[::ffff:127.0.0.1]',
    'http://LOCALHOST:7070',
    'http://user:word@127.0.0.1',
  ])('%s is this machine', (url) => {
    expect(isLoopback(hostOf(url))).toBe(true);
  });

  test.each([
    'http://127.evil.example',
    'http://127.0.0.1.evil.example',
    'http://127.0.0.1@evil.example',
    'http://localhost.evil.example',
    'http://localhost.',
    'http://evil.localhost',
    'http://126.255.255.255',
    'http://128.0.0.1',
    'http://0.0.0.0',
    'http://[::]',
    'http://[::2]',
    'http://[::ffff:10.0.0.1]',
    'http://[fe80::1]',
  ])('%s is not', (url) => {
    expect(isLoopback(hostOf(url))).toBe(false);
  });

  test.each(['', '127.', '127.1', '127.0.0.1 ', '127.0.0.1\n', '[127.0.0.1'])('%j is no address', (text) => {
    expect(isLoopback(text)).toBe(false);
  });
});
