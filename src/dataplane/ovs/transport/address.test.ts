// Addresses of daemons.
import { describe, expect, test } from 'vitest';
import { parseAddress } from './address.ts';
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
