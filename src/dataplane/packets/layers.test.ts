// Layer by layer: vectors that others wrote, what is refused and why, and that everything written is read back.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeArp, decodeArpFrame, encodeArpFrame } from './arp.ts';
import { checksum, pseudoHeaderChecksum } from './checksum.ts';
import { decodeEcho, encodeEcho } from './echo.ts';
import { decodeEthernet, encodeEthernet } from './ethernet.ts';
import { decodeIpFrame, encodeIpFrame } from './ip-frame.ts';
import { decodeIpv4, encodeIpv4 } from './ipv4.ts';
import { decodeIpv6, encodeIpv6 } from './ipv6.ts';
import { anyIpv4, anyIpv6, anyMac, anyNumber, anyPayload, anyPort, hex, toHex } from './octets-fixture.ts';
import { decodeTcp, encodeTcp } from './tcp.ts';
import { decodeUdp, encodeUdp } from './udp.ts';

const anyBetween = fc.oneof(fc.record({ src: anyIpv4, dst: anyIpv4 }), fc.record({ src: anyIpv6, dst: anyIpv6 }));

describe('checksums', () => {
  test('of RFC 1071', () => {
    expect(checksum(hex('0001 f203 f4f5 f6f7'))).toBe(0x220d);
  });

  test('an odd octet at the end counts as if a zero followed', () => {
    expect(checksum(hex('0001 f2'))).toBe(checksum(hex('0001 f200')));
  });

  test('under a pseudo header the addresses count', () => {
    const segment = hex('0035 0036 0008 0000');
    expect(pseudoHeaderChecksum({ src: '10.0.0.1', dst: '10.0.0.2' }, 17, segment)).not.toBe(
      pseudoHeaderChecksum({ src: '10.0.0.1', dst: '10.0.0.3' }, 17, segment),
    );
  });
});

describe('Ethernet', () => {
  const link = { dstMac: '02:00:00:00:00:02', srcMac: '02:00:00:00:00:01' };

  test('without a tag', () => {
    const octets = hex('020000000002 020000000001 0800 4501');
    expect(decodeEthernet(octets)).toEqual({ ...link, etherType: 0x800, payload: hex('4501') });
  });

  test('with one tag, whose priority is left out', () => {
    const octets = hex('020000000002 020000000001 8100 e07b 0806 00');
    expect(decodeEthernet(octets)).toEqual({ ...link, vlan: 123, etherType: 0x806, payload: hex('00') });
  });

  test.each([
    ['thirteen octets', '020000000002 020000000001 08', 'truncated'],
    ['a tag without an end', '020000000002 020000000001 8100 0001 08', 'truncated'],
    ['two tags', '020000000002 020000000001 8100 0001 8100 0002 0800', 'other-protocol'],
    ['a length in the place of a type', '020000000002 020000000001 05dc 00', 'other-protocol'],
    ['from a group', '020000000002 010000000001 0800 00', 'bad-address'],
  ])('%s', (_name, text, code) => {
    expect(decodeEthernet(hex(text))).toEqual({ malformed: code });
  });

  test('what is written is read back', () => {
    const any = fc.record(
      {
        srcMac: anyMac,
        dstMac: anyMac,
        vlan: fc.nat(4095),
        etherType: fc.constantFrom(0x800, 0x806, 0x86dd),
        payload: anyPayload,
      },
      { requiredKeys: ['srcMac', 'dstMac', 'etherType', 'payload'] },
    );
    fc.assert(
      fc.property(any, (frame) => {
        expect(decodeEthernet(encodeEthernet(frame))).toEqual(frame);
      }),
    );
  });
});

describe('ARP', () => {
  const REQUEST = '0001 0800 0604 0001 020000000001 0a000001 000000000000 0a000002';

  test('a request, filled up to the shortest frame', () => {
    const arp = {
      operation: 'request',
      senderMac: '02:00:00:00:00:01',
      senderIp: '10.0.0.1',
      targetMac: '00:00:00:00:00:00',
      targetIp: '10.0.0.2',
    } as const;
    expect(decodeArp(hex(`${REQUEST} 00000000 00000000 00000000 00000000 0000`))).toEqual(arp);
    const link = { srcMac: arp.senderMac, dstMac: 'ff:ff:ff:ff:ff:ff' };
    expect(toHex(encodeArpFrame({ link, arp }))).toBe(toHex(hex(`ffffffffffff 020000000001 0806 ${REQUEST}`)));
  });

  test.each([
    ['cut short', REQUEST.slice(0, -2), 'truncated'],
    ['of other hardware', REQUEST.replace('0001', '0006'), 'other-protocol'],
    ['of another protocol', REQUEST.replace('0800', '86dd'), 'other-protocol'],
    ['with other lengths', REQUEST.replace('0604', '0810'), 'bad-length'],
    ['of another operation', REQUEST.replace('0604 0001', '0604 0003'), 'other-protocol'],
  ])('%s', (_name, text, code) => {
    expect(decodeArp(hex(text))).toEqual({ malformed: code });
  });

  test('what is written is read back', () => {
    const operation = fc.constantFrom('request' as const, 'reply' as const);
    const arp = fc.record({ operation, senderMac: anyMac, senderIp: anyIpv4, targetMac: anyMac, targetIp: anyIpv4 });
    fc.assert(
      fc.property(anyMac, arp, (srcMac, each) => {
        const frame = { link: { srcMac, dstMac: each.targetMac }, arp: each };
        expect(decodeArpFrame(encodeArpFrame(frame))).toMatchObject(frame);
      }),
    );
  });
});

describe('IPv4', () => {
  const HEADER = '4500 0016 0000 4000 4011 b8be c0a80001 c0a800c7';

  test('a header that is known from books', () => {
    const octets = hex('4500 0073 0000 4000 4011 b861 c0a80001 c0a800c7');
    expect(checksum(octets)).toBe(0);
    expect(decodeIpv4(new Uint8Array([...octets, ...new Uint8Array(95)]))).toMatchObject({
      src: '192.168.0.1',
      dst: '192.168.0.199',
      protocol: 17,
      ttl: 64,
    });
  });

  test('what follows the packet is not of it', () => {
    expect(decodeIpv4(hex(`${HEADER} abcd 0000 0000`))).toMatchObject({ payload: hex('abcd') });
  });

  test('options are skipped', () => {
    const bare = hex('4600 001a 0000 4000 4011 0000 c0a80001 c0a800c7 01010101');
    bare.set([checksum(bare) >> 8, checksum(bare) & 255], 10);
    expect(decodeIpv4(new Uint8Array([...bare, 0xab, 0xcd]))).toMatchObject({ payload: hex('abcd') });
  });

  test.each([
    ['nineteen octets', HEADER.slice(0, -2), 'truncated'],
    ['shorter than it says', HEADER, 'truncated'],
    ['of version 6', HEADER.replace('4500', '6500'), 'bad-version'],
    ['with a header of four words', HEADER.replace('4500', '4400'), 'bad-length'],
    ['shorter than its header', HEADER.replace('0016', '0010'), 'bad-length'],
    ['with a bit turned', `${HEADER.replace('c7', 'c6')} abcd`, 'bad-checksum'],
    ['the first fragment', '4500 0014 0000 2000 4011 0000 c0a80001 c0a800c7', 'fragment'],
    ['the last fragment', '4500 0014 0000 0003 4011 0000 c0a80001 c0a800c7', 'fragment'],
    ['from a group', '4500 0014 0000 0000 4011 0000 e0000001 c0a800c7', 'bad-address'],
    ['from-the-broadcast-address', '4500 0014 0000 0000 4011 0000 ffffffff c0a800c7', 'bad-address'],
  ])('%s', (_name, text, code) => {
    const octets = hex(text);
    if (text.includes('4011 0000')) octets.set([checksum(octets) >> 8, checksum(octets) & 255], 10);
    expect(decodeIpv4(octets)).toEqual({ malformed: code });
  });

  test('what is written is read back', () => {
    const any = fc.record({ src: anyIpv4, dst: anyIpv4, protocol: fc.nat(255), ttl: fc.nat(255), payload: anyPayload });
    fc.assert(
      fc.property(any, (packet) => {
        expect(decodeIpv4(encodeIpv4(packet))).toEqual(packet);
      }),
    );
  });
});

describe('IPv6', () => {
  const ADDRESSES = 'fe800000000000000000000000000001 ff020000000000000000000000000001';

  test('one hop-by-hop header is skipped', () => {
    const octets = hex(`60000000 000a 00 01 ${ADDRESSES} 3a00 0502 0000 0100 abcd`);
    expect(decodeIpv6(octets)).toEqual({ src: 'fe80::1', dst: 'ff02::1', protocol: 58, ttl: 1, payload: hex('abcd') });
  });

  test.each([
    ['39 octets', `60000000 0000 3a ff ${ADDRESSES.slice(0, -2)}`, 'truncated'],
    ['shorter than it says', `60000000 0002 3a ff ${ADDRESSES} ab`, 'truncated'],
    ['of version 4', `45000000 0000 3a ff ${ADDRESSES}`, 'bad-version'],
    ['a fragment', `60000000 0008 2c ff ${ADDRESSES} 3a00 0000 0000 0000`, 'fragment'],
    ['a fragment behind hop-by-hop', `60000000 0008 00 ff ${ADDRESSES} 2c00 0502 0000 0100`, 'fragment'],
    ['with a routing header', `60000000 0008 2b ff ${ADDRESSES} 3a00 0000 0000 0000`, 'extension-header'],
    ['two hop-by-hop headers', `60000000 0008 00 ff ${ADDRESSES} 0000 0502 0000 0100`, 'extension-header'],
    ['a hop-by-hop header without octets', `60000000 0000 00 ff ${ADDRESSES}`, 'truncated'],
    ['a hop-by-hop header cut short', `60000000 0008 00 ff ${ADDRESSES} 3a01 0502 0000 0100`, 'truncated'],
    ['from a group', `60000000 0000 3a ff ff${ADDRESSES.slice(2)}`, 'bad-address'],
  ])('%s', (_name, text, code) => {
    expect(decodeIpv6(hex(text))).toEqual({ malformed: code });
  });

  test('what is written is read back, in its frame too', () => {
    const protocol = fc.constantFrom(6, 17, 58);
    const any = fc.record({ src: anyIpv6, dst: anyIpv6, protocol, ttl: fc.nat(255), payload: anyPayload });
    fc.assert(
      fc.property(any, anyMac, anyMac, (packet, srcMac, dstMac) => {
        expect(decodeIpv6(encodeIpv6(packet))).toEqual(packet);
        const frame = { link: { srcMac, dstMac }, packet };
        expect(decodeIpFrame(encodeIpFrame(frame))).toMatchObject(frame);
      }),
    );
  });
});

describe('UDP, TCP and echo', () => {
  const FOUR = { src: '10.0.0.1', dst: '10.0.0.2' };
  const SIX = { src: 'fe80::1', dst: 'fe80::2' };

  test('what is written is read back, between addresses of both versions', () => {
    const udp = fc.record({ sport: anyPort, dport: anyPort, payload: anyPayload });
    const tcp = fc.record({
      sport: anyPort,
      dport: anyPort,
      sequence: anyNumber,
      acknowledged: anyNumber,
      flags: fc.nat(255),
      window: anyPort,
      payload: anyPayload,
    });
    const kind = fc.constantFrom('request' as const, 'reply' as const);
    const echo = fc.record({ kind, id: anyPort, sequence: anyPort, payload: anyPayload });
    fc.assert(
      fc.property(udp, anyBetween, (each, at) => {
        expect(decodeUdp(encodeUdp(each, at), at)).toEqual(each);
      }),
    );
    fc.assert(
      fc.property(tcp, anyBetween, (each, at) => {
        expect(decodeTcp(encodeTcp(each, at), at)).toEqual(each);
      }),
    );
    fc.assert(
      fc.property(echo, anyBetween, (each, at) => {
        expect(decodeEcho(encodeEcho(each, at), at)).toEqual(each);
      }),
    );
  });

  test('a UDP checksum that would be zero is written as ffff, and is never left out', () => {
    fc.assert(
      fc.property(anyPort, anyPort, anyBetween, (sport, dport, at) => {
        expect(toHex(encodeUdp({ sport, dport, payload: new Uint8Array() }, at).subarray(6))).not.toBe('0000');
      }),
    );
    // These ports make the sum come out as zero.
    const sport = 0xffff - (0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 17 + 8 + 8);
    expect(toHex(encodeUdp({ sport, dport: 0, payload: new Uint8Array() }, FOUR).subarray(6))).toBe('ffff');
  });

  test('without a checksum UDP is taken from IPv4 only', () => {
    const octets = hex('0044 0043 0008 0000');
    expect(decodeUdp(octets, FOUR)).toEqual({ sport: 68, dport: 67, payload: new Uint8Array() });
    expect(decodeUdp(octets, SIX)).toEqual({ malformed: 'bad-checksum' });
  });

  test.each([
    ['seven octets', '0044 0043 0008 00', 'truncated'],
    ['shorter than it says', '0044 0043 0009 0000', 'truncated'],
    ['shorter than its header', '0044 0043 0007 0000', 'bad-length'],
    ['with a wrong checksum', '0044 0043 0008 0001', 'bad-checksum'],
  ])('UDP %s', (_name, text, code) => {
    expect(decodeUdp(hex(text), FOUR)).toEqual({ malformed: code });
  });

  test.each([
    ['nineteen octets', '0001 0002 00000000 00000000 5010 ffff 0000 00', 'truncated'],
    ['a header of four words', '0001 0002 00000000 00000000 4010 ffff 0000 0000', 'bad-length'],
    ['a header longer than all', '0001 0002 00000000 00000000 6010 ffff 0000 0000', 'truncated'],
    ['with a wrong checksum', '0001 0002 00000000 00000000 5010 ffff 0000 0000', 'bad-checksum'],
  ])('TCP %s', (_name, text, code) => {
    expect(decodeTcp(hex(text), FOUR)).toEqual({ malformed: code });
  });

  test.each([
    ['seven octets', '0800 f7ff 0000 00', 'truncated'],
    ['with a wrong checksum', '0800 f7fe 0000 0000', 'bad-checksum'],
    ['a timestamp', '0d00 f2ff 0000 0000', 'other-protocol'],
    ['with a code', '0801 f7fe 0000 0000', 'other-protocol'],
  ])('echo %s', (_name, text, code) => {
    expect(decodeEcho(hex(text), FOUR)).toEqual({ malformed: code });
  });

  test('an echo of one version is not one of the other', () => {
    const octets = encodeEcho({ kind: 'request', id: 7, sequence: 1, payload: new Uint8Array() }, FOUR);
    expect(toHex(octets)).toBe('0800f7f700070001');
    expect(decodeEcho(octets, SIX)).toEqual({ malformed: 'bad-checksum' });
  });
});
