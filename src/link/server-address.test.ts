import { describe, expect, test } from 'vitest';
import { isDowngrade, originOf, transportTo } from './server-address.ts';

describe('where an agent may send its secret', () => {
  test.each([
    ['https://m1:7070', 'https'],
    ['http://127.0.0.1:7070', 'http-to-loopback'],
    ['http://[::1]', 'http-to-loopback'],
    ['http://127.evil.example', 'http'],
    ['ftp://m1', 'none'],
    ['m1', 'none'],
  ])('%s is %s', (server, transport) => {
    expect(transportTo(server)).toBe(transport);
  });

  test.each([
    ['https://m1', 'http://m2', true],
    // Whoever answers on this machine is not the server that was authenticated.
    ['https://m1', 'http://127.0.0.1:7070', true],
    ['https://m1', 'm2', true],
    ['https://m1', 'https://m2', false],
    ['http://127.0.0.1', 'http://m2', false],
    ['http://m1', 'https://m2', false],
  ])('from %s to %s is a downgrade: %s', (from, to, isOne) => {
    expect(isDowngrade(from, to)).toBe(isOne);
  });

  test('a server is found by its origin, never by how its name begins', () => {
    expect(originOf('https://m1/path?x')).toBe('https://m1');
    expect(originOf('https://m1')).not.toBe(originOf('https://m1.evil.example'));
    expect(originOf('https://m1')).not.toBe(originOf('https://m1:8443'));
  });
});
