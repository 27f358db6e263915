import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { connectionOf } from './tracked-connection-fixture.ts';
import { CONNECTION_PATTERN, formatConnection, parseConnection } from './tracked-connection.ts';

const port = fc.integer({ min: 0, max: 65_535 });
const byte = fc.integer({ min: 0, max: 255 });
const ip = fc.oneof(
  fc.ipV4(),
  fc.ipV6().map((text) => text.toLowerCase()),
);

describe('a connection in one line', () => {
  test('says who asked whom, and what it is outside', () => {
    expect([connectionOf('udp', 1), connectionOf('tcp', 2), connectionOf('icmp', 3)].map(formatConnection))
      .toMatchInlineSnapshot(`
      [
        "udp 10.0.0.11 4001 203.0.113.9 53 198.51.100.7 20001",
        "tcp 10.0.0.12 4002 203.0.113.9 53 198.51.100.7 20002",
        "icmp 10.0.0.13 103 203.0.113.9 2048 198.51.100.7 103",
      ]
    `);
  });

  test('is read back as it was', () => {
    const ends = { src: ip, dst: ip, natSource: fc.record({ ip, port }) };
    const connections = fc.oneof(
      fc.record({ protocol: fc.constantFrom('udp' as const, 'tcp' as const), ...ends, sport: port, dport: port }),
      fc.record({ protocol: fc.constant('icmp' as const), ...ends, id: port, type: byte, code: byte }),
    );
    fc.assert(
      fc.property(connections, (connection) => {
        const text = formatConnection(connection);
        expect(text).toMatch(new RegExp(CONNECTION_PATTERN, 'u'));
        expect(parseConnection(text)).toEqual(connection);
      }),
    );
  });

  test.each([
    '',
    'udp',
    'sctp 10.0.0.1 1 10.0.0.2 2 10.0.0.3 3',
    'udp 10.0.0.1 1 10.0.0.2 2 10.0.0.3',
    'udp 10.0.0.1 1 10.0.0.2 2 10.0.0.3 65536',
    'udp 10.0.0.1 x 10.0.0.2 2 10.0.0.3 3',
    'udp 10.0.0.1 1 10.0.0.2 2 10.0.0.3 3 4',
    'udp  1 10.0.0.2 2 10.0.0.3 3',
  ])('is none: %j', (text) => {
    expect(parseConnection(text)).toBeUndefined();
  });
});
