import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canonicalIp,
  contains,
  formatCidr,
  formatIp,
  enclosingNetwork,
  overlaps,
  parseCidr,
  parseIp,
  type Cidr,
  type Ip,
} from './ip.ts';

describe('addresses', () => {
  test.each([
    ['0.0.0.0', 0n],
    ['255.255.255.255', 0xffff_ffffn],
    ['192.0.2.7', 0xc000_0207n],
  ])('%s is a number of 32 bits', (text, value) => {
    expect(parseIp(text)).toEqual({ version: 4, value });
    expect(formatIp({ version: 4, value })).toBe(text);
  });

  // RFC 5952, section by section.
  test.each([
    ['leading zeros are removed (4.1)', '2001:0db8::0001', '2001:db8::1'],
    ['as much as possible is shortened (4.2.1)', '2001:db8:0:0:0:0:2:1', '2001:db8::2:1'],
    ['one group of zeros is not shortened (4.2.2)', '2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['the longest run is shortened (4.2.3)', '2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['of two equal runs the first is (4.2.3)', '2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['lower case (4.3)', '2001:DB8::AbCd', '2001:db8::abcd'],
    ['an address within an address keeps its dots (5)', '::FFFF:C000:0201', '::ffff:192.0.2.1'],
    ['dots may be written at the end', '64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['nothing at all', '0:0:0:0:0:0:0:0', '::'],
    ['zeros in front', '0:0:0:0:0:0:0:1', '::1'],
    ['zeros at the end', 'fe80:0:0:0:0:0:0:0', 'fe80::'],
    ['a run in the middle of eight groups', '1:0:0:4:5:6:7:8', '1::4:5:6:7:8'],
  ])('%s: %s', (_name, text, canonical) => {
    expect(canonicalIp(text)).toBe(canonical);
    expect(canonicalIp(canonical)).toBe(canonical);
  });

  test.each([
    '',
    'a',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4 ',
    '1.2.3.-4',
    '0x1.2.3.4',
    ':',
    ':::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '1::2::3',
    '12345::',
    'g::',
    'fe80::1%eth0',
    '1.2.3.4::',
    '::1.2.3.4:5',
    '::1.2.3',
    '1:2:3:4:5:6:7:1.2.3.4',
    '[::1]',
  ])('%j is no address', (text) => {
    expect(parseIp(text)).toBeUndefined();
  });

  test('what is written is read back, and has one spelling', () => {
    const anyIp: fc.Arbitrary<Ip> = fc.oneof(
      fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value) => ({ version: 4, value }) as const),
      fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((value) => ({ version: 6, value }) as const),
      // Many zeros: that is where spellings differ.
      fc
        .array(fc.constantFrom<bigint>(0n, 0n, 1n, 0xffffn), { minLength: 8, maxLength: 8 })
        .map((groups) => ({ version: 6, value: groups.reduce((sum, group) => (sum << 16n) | group, 0n) }) as const),
    );
    fc.assert(
      fc.property(anyIp, (ip) => {
        const text = formatIp(ip);
        expect(parseIp(text)).toEqual(ip);
        expect(parseIp(text.toUpperCase())).toEqual(ip);
        if (ip.version === 6) expect(new URL(`http://[${hexForm(text)}]`).hostname).toBe(`[${hexForm(text)}]`);
      }),
    );
  });

  /** URLs never use dots; else their form is that of RFC 5952. */
  function hexForm(text: string): string {
    if (!text.includes('.')) return text;
    return text.replace(/[\d.]+$/, (dots) => {
      const [a = 0, b = 0, c = 0, d = 0] = dots.split('.').map(Number);
      return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    });
  }
});

describe('prefixes', () => {
  test.each([
    ['10.0.0.0/24', 256n],
    ['0.0.0.0/0', 1n << 32n],
    ['192.0.2.1/32', 1n],
    ['2001:db8::/64', 1n << 64n],
    ['::/0', 1n << 128n],
    ['2001:db8::1/128', 1n],
  ])('%s', (text, size) => {
    const cidr = parseCidr(text) as Cidr;
    expect(cidr.last - cidr.first + 1n).toBe(size);
    expect(formatCidr(cidr)).toBe(text);
  });

  test.each([
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/24/24',
    '::/129',
    '/24',
    'x/8',
  ])('%j is no prefix', (text) => {
    expect(parseCidr(text)).toBeUndefined();
    expect(enclosingNetwork(text)).toBeUndefined();
  });

  test('an address with host bits is no prefix, and the prefix around it is suggested', () => {
    expect(parseCidr('10.0.0.5/24')).toBeUndefined();
    expect(enclosingNetwork('10.0.0.5/24')).toBe('10.0.0.0/24');
    expect(enclosingNetwork('2001:DB8::5/64')).toBe('2001:db8::/64');
  });

  test('prefixes overlap exactly when they have an address in common', () => {
    const anyCidr = fc
      .tuple(fc.constantFrom<4 | 6>(4, 6), fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 15 }))
      .map(([version, length, at]) => {
        const bits = version === 4 ? 32 : 128;
        const size = 1n << BigInt(4 - length);
        const first = (BigInt(at) / size) * size;
        const prefix = bits - 4 + length;
        return { version, prefix, first, last: first + size - 1n };
      });
    const members = (cidr: Cidr): bigint[] =>
      Array.from({ length: 16 }, (_, at) => BigInt(at)).filter((value) =>
        contains(cidr, { version: cidr.version, value }),
      );
    fc.assert(
      fc.property(anyCidr, anyCidr, (one, other) => {
        const common = one.version === other.version && members(one).some((value) => members(other).includes(value));
        expect(overlaps(one, other)).toBe(common);
        expect(parseCidr(formatCidr(one))).toEqual(one);
      }),
    );
  });
});
