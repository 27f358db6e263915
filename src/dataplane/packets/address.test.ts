import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canonical,
  ipOctets,
  ipText,
  isLinkLocal,
  isMulticast,
  isInPrefix,
  lastOf,
  linkLocalOf,
  macOctets,
  macText,
  maskOf,
  multicastMacOf,
  parsePrefix,
  solicitedNodeOf,
} from './address.ts';
import { anyIpv4, anyIpv6, anyMac } from './octets-fixture.ts';

describe('texts and octets', () => {
  test('what is written is read back', () => {
    fc.assert(
      fc.property(anyMac, (mac) => {
        expect(macText(macOctets(mac))).toBe(mac);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(anyIpv4, anyIpv6), (ip) => {
        expect(canonical(ip)).toBe(ip);
      }),
    );
  });

  test('every address of IPv6 is written as others write it', () => {
    const mapped = (octets: Uint8Array): boolean => octets.subarray(0, 12).join('') === '0000000000255255';
    const groups = fc.array(fc.constantFrom(0, 0, 0, 1, 0xabcd), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (numbers) => {
        const octets = Uint8Array.from(numbers.flatMap((group) => [group >> 8, group & 255]));
        fc.pre(!mapped(octets));
        const text = numbers.map((group) => group.toString(16)).join(':');
        expect(ipText(octets)).toBe(new URL(`http://[${text}]`).hostname.slice(1, -1));
        expect(ipOctets(ipText(octets))).toEqual(octets);
      }),
    );
  });

  test.each([
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::ffff:c000:201', '::ffff:192.0.2.1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:0:3:4:5:6:7:8', '1:0:3:4:5:6:7:8'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['10.0.0.1', '10.0.0.1'],
  ])('%s is written %s', (text, written) => {
    expect(canonical(text)).toBe(written);
  });

  test.each([
    '',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1.2.3.4::',
    '1:2:3:4:5:6:7::8',
    'g::',
  ])('%j is no address', (text) => {
    expect(() => ipOctets(text)).toThrow('is not an IP address');
  });

  test.each(['', '02:00:00:00:00', '02:00:00:00:00:0g', '2:0:0:0:0:0', '02:00:00:00:00:01:02'])(
    '%j is no MAC address',
    (text) => {
      expect(() => macOctets(text)).toThrow('is not a MAC address');
    },
  );
});

describe('addresses that are made of others', () => {
  test('the one on the link turns a bit of the MAC address and has fffe in the middle', () => {
    expect(linkLocalOf('02:bb:00:00:00:01')).toBe('fe80::bb:ff:fe00:1');
    expect(linkLocalOf('34:56:78:9a:bc:de')).toBe('fe80::3656:78ff:fe9a:bcde');
  });

  test('a solicitation goes to the group of the last three octets', () => {
    expect(solicitedNodeOf('4037::1:800:200e:8c6c')).toBe('ff02::1:ff0e:8c6c');
    expect(multicastMacOf('ff02::1:ff0e:8c6c')).toBe('33:33:ff:0e:8c:6c');
    expect(multicastMacOf('ff02::1')).toBe('33:33:00:00:00:01');
  });

  test.each([
    ['ff02::1', true, false],
    ['fe80::1', false, true],
    ['febf::1', false, true],
    ['fec0::1', false, false],
    ['2001:db8::1', false, false],
    ['224.0.0.1', true, false],
    ['240.0.0.1', false, false],
    ['169.254.0.1', false, false],
  ])('%s: a group %s, of the link %s', (ip, group, link) => {
    expect([isMulticast(ip), isLinkLocal(ip)]).toEqual([group, link]);
  });
});

describe('prefixes', () => {
  test.each([
    ['10.0.0.0/24', '255.255.255.0', '10.0.0.255'],
    ['10.0.0.0/20', '255.255.240.0', '10.0.15.255'],
    ['0.0.0.0/0', '0.0.0.0', '255.255.255.255'],
    ['10.0.0.7/32', '255.255.255.255', '10.0.0.7'],
    ['2001:db8::/61', 'ffff:ffff:ffff:fff8::', '2001:db8:0:7:ffff:ffff:ffff:ffff'],
  ])('%s has the mask %s and ends at %s', (cidr, mask, last) => {
    const prefix = parsePrefix(cidr);
    expect(ipText(maskOf(prefix))).toBe(mask);
    expect(lastOf(prefix)).toBe(last);
    expect(isInPrefix(prefix, last)).toBe(true);
    expect(isInPrefix(prefix, prefix.address)).toBe(true);
  });

  test.each([
    ['10.0.0.0/24', '10.0.1.0'],
    ['10.0.0.0/24', '9.255.255.255'],
    ['10.0.0.0/24', '2001:db8::1'],
    ['2001:db8::/64', '2001:db8:0:1::'],
  ])('%s does not hold %s', (cidr, ip) => {
    expect(isInPrefix(parsePrefix(cidr), ip)).toBe(false);
  });

  test.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', '2001:db8::/129', '10.0.0.0/x'])('%j is none', (cidr) => {
    expect(() => parsePrefix(cidr)).toThrow('is not a prefix');
  });
});
