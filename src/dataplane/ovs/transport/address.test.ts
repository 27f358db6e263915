// Addresses of daemons, and how long to wait for one that is not there.
import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../../journal/index.ts';
import { parseAddress } from './address.ts';
import { DAEMON_BACKOFF } from './backoff.ts';
import { BadAddress } from './failures.ts';

describe('address', () => {
  test.each([
    ['unix:/run/openvswitch/db.sock', { kind: 'unix', path: '/run/openvswitch/db.sock' }],
    ['tcp:10.0.0.1:6640', { kind: 'tcp', host: '10.0.0.1', port: 6640 }],
    ['tcp:switch.example:6640', { kind: 'tcp', host: 'switch.example', port: 6640 }],
    ['tcp:[2001:db8::1]:6640', { kind: 'tcp', host: '2001:db8::1', port: 6640 }],
    ['tcp:[fe80::1%eth0]:6640', { kind: 'tcp', host: 'fe80::1%eth0', port: 6640 }],
  ])('%s', (text, address) => {
    expect(parseAddress(text)).toEqual(address);
  });

  test.each([
    '',
    'unix:',
    'unix:db.sock',
    'ssl:1.2.3.4:6640',
    'tcp:1.2.3.4',
    'tcp:1.2.3.4:0',
    'tcp:1.2.3.4:65536',
    'tcp::1:1',
    'tcp:a b:1',
  ])('not-an-address: %j', (text) => {
    expect(() => parseAddress(text)).toThrow(BadAddress);
  });

  test('a-path-that-the-kernel-would-cut-is-refused', () => {
    expect(parseAddress(`unix:/${'x'.repeat(106)}`)).toMatchObject({ kind: 'unix' });
    expect(() => parseAddress(`unix:/${'x'.repeat(107)}`)).toThrow(/at most 107 bytes/);
    expect(() => parseAddress(`unix:/${'ä'.repeat(54)}`)).toThrow(/has 109/);
  });
});

describe('back-off', () => {
  test('it-doubles-up-to-a-limit', () => {
    expect([1, 2, 3, 4, 6, 7, 1000].map((failures) => backoffMs(DAEMON_BACKOFF, failures, () => 1))).toEqual([
      100, 200, 400, 800, 3200, 5000, 5000,
    ]);
  });

  test('half-of-it-is-chance', () => {
    expect([1, 7].map((failures) => backoffMs(DAEMON_BACKOFF, failures, () => 0))).toEqual([50, 2500]);
  });
});
