import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linkLocalOf, solicitedNodeOf } from './address.ts';
import { pseudoHeaderChecksum, type AddressPair } from './checksum.ts';
import type { IpPacket } from './ipv4.ts';
import { decodeNd, encodeNd, type NdMessage } from './nd.ts';
import { decodeNdFrame, encodeNdFrame } from './nd-frame.ts';
import { anyIpv6, anyMac, anyNumber, anyPort, hex } from './octets-fixture.ts';

/** A message with the checksum that belongs to it. */
function packet(text: string, between: AddressPair, ttl = 255): IpPacket {
  const payload = hex(text);
  if (payload.length >= 4) {
    const sum = pseudoHeaderChecksum(between, 58, payload);
    payload.set([sum >> 8, sum & 255], 2);
  }
  return { ...between, protocol: 58, ttl, payload };
}

const HERE = { src: 'fe80::1', dst: 'fe80::2' };
const TARGET = '20010db8000000000000000000000001';
const NS = `87000000 00000000 ${TARGET}`;
const RA = '86000000 40c00708 00000000 00000000';
const SOURCE = '0101020000000001';

describe('what is read', () => {
  test('an advertisement of a router, with options that are not read here', () => {
    const prefix = '030440c0 00278d00 00093a80 00000000 20010db8000000000000000000000000';
    const rdnss = `19030000 00000e10 ${TARGET}`;
    const text = `${RA} ${SOURCE} 0501000000000578 ${prefix} ${rdnss} 0e01a1b2c3d4e5f6`;
    expect(decodeNd(packet(text, HERE))).toEqual({
      kind: 'router-advertisement',
      hopLimit: 64,
      managed: true,
      other: true,
      lifetimeS: 1800,
      sourceMac: '02:00:00:00:00:01',
      mtu: 1400,
      prefixes: [{ cidr: '2001:db8::/64', onLink: true, autonomous: true, validS: 2_592_000, preferredS: 604_800 }],
    });
  });

  test('options of another length than theirs are let pass', () => {
    expect(decodeNd(packet(`${NS} 0102020000000001 0000000000000000`, HERE))).toEqual({
      kind: 'neighbour-solicitation',
      target: '2001:db8::1',
    });
    const prefix = '030481c0 00278d00 00093a80 00000000 20010db8000000000000000000000000';
    expect(decodeNd(packet(`${RA} ${prefix}`, HERE))).toMatchObject({ prefixes: [] });
  });

  test('who wants an address for itself asks from nowhere', () => {
    const between = { src: '::', dst: 'ff02::1:ff00:1' };
    expect(decodeNd(packet(NS, between))).toEqual({ kind: 'neighbour-solicitation', target: '2001:db8::1' });
  });

  test.each<[string, IpPacket, string]>([
    ['that a router passed on', packet(NS, HERE, 254), 'bad-hop-limit'],
    ['of another protocol', { ...packet(NS, HERE), protocol: 17 }, 'other-protocol'],
    ['between others', { ...packet(NS, HERE), src: 'fe80::3' }, 'bad-checksum'],
    ['with a code', packet(NS.replace('87000000', '87010000'), HERE), 'other-protocol'],
    ['an echo', packet('80000000 00010001', HERE), 'other-protocol'],
    ['of three octets', packet('870000', HERE), 'truncated'],
    ['cut short', packet(NS.slice(0, -2), HERE), 'truncated'],
    ['for a group', packet(`87000000 00000000 ff02${TARGET.slice(4)}`, HERE), 'bad-address'],
    ['unspecified to unicast', packet(NS, { src: '::', dst: 'fe80::2' }), 'bad-address'],
    ['from nowhere with a sender', packet(`${NS} ${SOURCE}`, { src: '::', dst: 'ff02::1:ff00:1' }), 'bad-address'],
    [
      'for a router, from nowhere with a sender',
      packet(`85000000 00000000 ${SOURCE}`, { src: '::', dst: 'ff02::2' }),
      'bad-address',
    ],
    ['of a router from afar', packet(RA, { src: '2001:db8::1', dst: 'ff02::1' }), 'bad-address'],
    [
      'solicited, to all nodes',
      packet(`88000000 60000000 ${TARGET}`, { src: 'fe80::1', dst: 'ff02::1' }),
      'bad-address',
    ],
    ['with an option of no length', packet(`${NS} 0100020000000001`, HERE), 'bad-option'],
    ['with an option cut short', packet(`${NS} 0101020000`, HERE), 'bad-option'],
    ['with one octet of an option', packet(`${NS} 01`, HERE), 'bad-option'],
  ])('not one %s', (_name, frame, code) => {
    expect(decodeNd(frame)).toEqual({ malformed: code });
  });
});

describe('what is written', () => {
  const anyPrefix = fc.record({
    cidr: fc.tuple(anyIpv6, fc.nat(128)).map(([ip, length]) => `${ip}/${length}`),
    onLink: fc.boolean(),
    autonomous: fc.boolean(),
    validS: anyNumber,
    preferredS: anyNumber,
  });
  const anyMessage: fc.Arbitrary<NdMessage> = fc.oneof(
    fc.record({ kind: fc.constant('router-solicitation' as const), sourceMac: anyMac }, { requiredKeys: ['kind'] }),
    fc.record(
      { kind: fc.constant('neighbour-solicitation' as const), target: anyIpv6, sourceMac: anyMac },
      { requiredKeys: ['kind', 'target'] },
    ),
    fc.record(
      {
        kind: fc.constant('neighbour-advertisement' as const),
        target: anyIpv6,
        router: fc.boolean(),
        solicited: fc.boolean(),
        override: fc.boolean(),
        targetMac: anyMac,
      },
      { requiredKeys: ['kind', 'target', 'router', 'solicited', 'override'] },
    ),
    fc.record(
      {
        kind: fc.constant('router-advertisement' as const),
        hopLimit: fc.nat(255),
        managed: fc.boolean(),
        other: fc.boolean(),
        lifetimeS: anyPort,
        sourceMac: anyMac,
        mtu: anyNumber,
        prefixes: fc.array(anyPrefix, { maxLength: 3 }),
      },
      { requiredKeys: ['kind', 'hopLimit', 'managed', 'other', 'lifetimeS', 'prefixes'] },
    ),
  );

  test('is read back, in its frame too', () => {
    fc.assert(
      fc.property(anyMessage, anyMac, anyMac, anyIpv6, (message, srcMac, dstMac, dst) => {
        const between = { src: linkLocalOf(srcMac), dst };
        expect(decodeNd(encodeNd(message, between))).toEqual(message);
        const frame = { link: { srcMac, dstMac }, between, message };
        expect(decodeNdFrame(encodeNdFrame(frame))).toMatchObject(frame);
      }),
    );
  });

  test('goes to the MAC address of the group when it goes to a group', () => {
    const target = '2001:db8::7:1234';
    const frame = encodeNdFrame({
      link: { srcMac: '02:00:00:00:00:01', dstMac: '02:00:00:00:00:09' },
      between: { src: 'fe80::1', dst: solicitedNodeOf(target) },
      message: { kind: 'neighbour-solicitation', target },
    });
    expect(decodeNdFrame(frame)).toMatchObject({ link: { dstMac: '33:33:ff:07:12:34' } });
  });
});
