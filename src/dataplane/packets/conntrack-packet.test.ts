import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeEcho } from './echo.ts';
import { decodeIpFrame, type IpFrame } from './ip-frame.ts';
import { isMalformed } from './malformed.ts';
import { anyIpv4, anyIpv6, anyPort } from './octets-fixture.ts';
import { buildConntrackPacket, type OriginalTuple } from './conntrack-packet.ts';
import { decodeTcp } from './tcp.ts';
import { decodeUdp } from './udp.ts';

const NOTHING = new Uint8Array();

function seeded(connection: OriginalTuple): IpFrame {
  const seed = buildConntrackPacket(connection);
  if (seed.kind !== 'seed') throw new Error(seed.code);
  const frame = decodeIpFrame(seed.frame);
  if (isMalformed(frame)) throw new Error(frame.malformed);
  return frame;
}

const anyBetween = fc.oneof(fc.record({ src: anyIpv4, dst: anyIpv4 }), fc.record({ src: anyIpv6, dst: anyIpv6 }));

describe('seeds', () => {
  test('of UDP have the connection in them, nothing else, and right checksums', () => {
    fc.assert(
      fc.property(anyBetween, anyPort, anyPort, (between, sport, dport) => {
        const { packet } = seeded({ protocol: 'udp', ...between, sport, dport });
        expect(packet).toMatchObject({ ...between, protocol: 17 });
        expect(decodeUdp(packet.payload, packet)).toEqual({ sport, dport, payload: NOTHING });
      }),
    );
  });

  test('of TCP look like the middle of a connection', () => {
    fc.assert(
      fc.property(anyBetween, anyPort, anyPort, (between, sport, dport) => {
        const { packet } = seeded({ protocol: 'tcp', ...between, sport, dport });
        expect(packet).toMatchObject({ ...between, protocol: 6 });
        expect(decodeTcp(packet.payload, packet)).toMatchObject({ sport, dport, flags: 16, payload: NOTHING });
      }),
    );
  });

  test('of echoes are requests with the id', () => {
    const four = seeded({ protocol: 'icmp', src: '10.0.0.1', dst: '198.51.100.1', id: 4711, type: 8, code: 0 });
    expect(decodeEcho(four.packet.payload, four.packet)).toMatchObject({ kind: 'request', id: 4711 });
    const six = seeded({ protocol: 'icmp6', src: '2001:db8::1', dst: '2001:db8::2', id: 4711, type: 128, code: 0 });
    expect(decodeEcho(six.packet.payload, six.packet)).toMatchObject({ kind: 'request', id: 4711 });
  });

  test('go where the caller says', () => {
    const link = { srcMac: '02:00:00:00:00:0a', dstMac: '02:00:00:00:00:0b' };
    const seed = buildConntrackPacket({ protocol: 'udp', src: '10.0.0.1', dst: '10.0.0.2', sport: 1, dport: 2 }, link);
    expect(seed.kind === 'seed' ? decodeIpFrame(seed.frame) : seed).toMatchObject({ link });
  });

  test.each<[string, OriginalTuple, string]>([
    ['a timestamp', { protocol: 'icmp', src: '10.0.0.1', dst: '10.0.0.2', id: 1, type: 13, code: 0 }, 'not-an-echo'],
    ['an echo reply', { protocol: 'icmp', src: '10.0.0.1', dst: '10.0.0.2', id: 1, type: 0, code: 0 }, 'not-an-echo'],
    [
      'an echo with a code',
      { protocol: 'icmp', src: '10.0.0.1', dst: '10.0.0.2', id: 1, type: 8, code: 1 },
      'not-an-echo',
    ],
    ['ICMP of IPv6', { protocol: 'icmp', src: '::1', dst: '::2', id: 1, type: 8, code: 0 }, 'mixed-addresses'],
    [
      'ICMPv6 of IPv4',
      { protocol: 'icmp6', src: '10.0.0.1', dst: '10.0.0.2', id: 1, type: 128, code: 0 },
      'mixed-addresses',
    ],
    ['both versions', { protocol: 'udp', src: '10.0.0.1', dst: '::2', sport: 1, dport: 2 }, 'mixed-addresses'],
  ])('%s cannot be seeded', (_name, connection, code) => {
    expect(buildConntrackPacket(connection)).toEqual({ kind: 'unseedable', code });
  });
});
