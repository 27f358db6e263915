import { describe, expect, test } from 'vitest';
import { addressBlockOf } from './address-block.ts';

describe('who counts as one stranger', () => {
  test.each([
    ['an-ipv4-address', '192.0.2.7', '192.0.2.7'],
    ['ipv4-mapped-with-dots', '::ffff:192.0.2.7', '192.0.2.7'],
    ['ipv4-mapped-in-capitals', '::FFFF:192.0.2.7', '192.0.2.7'],
    ['ipv4-mapped-as-groups', '::ffff:c000:207', '192.0.2.7'],
    ['ipv4-mapped-written-out', '0:0:0:0:0:ffff:c000:207', '192.0.2.7'],
    ['the-64-of-an-ipv6-address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['zeros-inside-the-network', '2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
    ['zeros-across-the-end-of-the-network', '2001:db8:1::6', '2001:db8:1:0::/64'],
    ['leading-zeros-and-capitals', '2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['with-a-zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['loopback', '::1', '0:0:0:0::/64'],
    ['dots-that-are-not-mapped', '64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['no-address', '', ''],
  ])('%s', (_, address, block) => {
    expect(addressBlockOf(address)).toBe(block);
  });
});
