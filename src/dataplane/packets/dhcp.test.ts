import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeDhcp, encodeDhcp, type Dhcp } from './dhcp.ts';
import {
  addressIn,
  DHCP_OPTION,
  encodeOption,
  maximumSizeIn,
  parametersIn,
  routesOption,
  textIn,
  textOption,
  typeIn,
  typeOption,
} from './dhcp-options.ts';
import { isMalformed } from './malformed.ts';
import { anyIpv4, anyMac, anyNumber, anyPort, hex, toHex } from './octets-fixture.ts';

const HEAD = `01010600 3903f326 00070000 00000000 00000000 00000000 00000000 020000000001 00000000000000000000`;
const COOKIE = '63825363';

interface Fields {
  readonly options: string;
  readonly file?: string;
  readonly sname?: string;
}

/** A request as a client writes it. */
function request({ options, file = '', sname = '' }: Fields): Uint8Array {
  const plain = (text: string): string => text.replaceAll(' ', '');
  const names = plain(sname).padEnd(128, '0') + plain(file).padEnd(256, '0');
  return hex(HEAD + names + COOKIE + options);
}

function decoded(fields: Fields): Dhcp {
  const message = decodeDhcp(request(fields));
  if (isMalformed(message)) throw new Error(message.malformed);
  return message;
}

describe('what a client writes', () => {
  test('a discover, with pads, and without an end', () => {
    const options = '350101 00 0000 3204 0a00000b 3704 01030679 3902 05dc 0c03 766d31';
    const message = decoded({ options });
    expect(message).toMatchObject({
      op: 'request',
      xid: 0x3903f326,
      secs: 7,
      broadcast: false,
      ciaddr: '0.0.0.0',
      giaddr: '0.0.0.0',
      mac: '02:00:00:00:00:01',
    });
    expect(typeIn(message.options)).toBe('discover');
    expect(addressIn(message.options, DHCP_OPTION.requested)).toBe('10.0.0.11');
    expect(parametersIn(message.options)).toEqual(new Set([1, 3, 6, 121]));
    expect(maximumSizeIn(message.options)).toBe(1500);
    expect(textIn(message.options, DHCP_OPTION.hostname)).toBe('vm1');
  });

  test('options go on in the fields for a file and for a server', () => {
    const message = decoded({ options: '340103 350103 ff', file: '3204 0a00000b ff', sname: '3604 0a000002 ff' });
    expect(typeIn(message.options)).toBe('request');
    expect(addressIn(message.options, DHCP_OPTION.requested)).toBe('10.0.0.11');
    expect(addressIn(message.options, DHCP_OPTION.serverId)).toBe('10.0.0.2');
  });

  test('a file that is not said to have options has none', () => {
    const message = decoded({ options: '350101 ff', file: '3204 0a00000b ff', sname: '3604 0a000002 ff' });
    expect([...message.options.keys()]).toEqual([53]);
  });

  test('an option in pieces is one, also across fields', () => {
    const message = decoded({ options: '340101 0c02 766d 0c01 31 ff', file: '0c02 2e61 ff' });
    expect(textIn(message.options, DHCP_OPTION.hostname)).toBe('vm1.a');
  });

  test('nothing is read behind the end', () => {
    expect([...decoded({ options: '350101 ff 3204 0a00000b' }).options.keys()]).toEqual([53]);
  });

  test('an option of another length than its own says nothing', () => {
    const { options } = decoded({ options: '3502 0101 3203 0a0000 3901 05 ff' });
    expect(typeIn(options)).toBeUndefined();
    expect(addressIn(options, DHCP_OPTION.requested)).toBeUndefined();
    expect(maximumSizeIn(options)).toBeUndefined();
    expect(typeIn(decoded({ options: '350109' }).options)).toBeUndefined();
    expect(typeIn(decoded({ options: '350100' }).options)).toBeUndefined();
  });

  test.each([
    ['cut short', request({ options: '' }).subarray(0, 239), 'truncated'],
    ['of BOOTP', hex(`${HEAD}${'0'.repeat(384)}00000000`), 'other-protocol'],
    ['of no operation', hex(HEAD.replace('0101', '0301') + '0'.repeat(384) + COOKIE), 'other-protocol'],
    ['of other hardware', hex(HEAD.replace('010106', '012014') + '0'.repeat(384) + COOKIE), 'other-protocol'],
    ['with an option cut short', request({ options: '3204 0a0000' }), 'bad-option'],
    ['with an option without a length', request({ options: '32' }), 'bad-option'],
    ['with an option cut short in the file', request({ options: '340101', file: 'f0'.repeat(128) }), 'bad-option'],
    ['with an option cut short in the server', request({ options: '340102', sname: 'f0'.repeat(64) }), 'bad-option'],
  ])('%s', (_name, octets, code) => {
    expect(decodeDhcp(octets)).toEqual({ malformed: code });
  });
});

describe('what is written', () => {
  test('is read back, however long an option is', () => {
    const option = fc.tuple(fc.integer({ min: 53, max: 254 }), fc.uint8Array({ maxLength: 600 }));
    const any = fc.record({
      op: fc.constantFrom('request' as const, 'reply' as const),
      xid: anyNumber,
      hops: fc.nat(255),
      secs: anyPort,
      broadcast: fc.boolean(),
      ciaddr: anyIpv4,
      yiaddr: anyIpv4,
      siaddr: anyIpv4,
      giaddr: anyIpv4,
      mac: anyMac,
      options: fc.array(option, { maxLength: 5 }).map((options) => new Map(options)),
    });
    fc.assert(
      fc.property(any, (message) => {
        const octets = encodeDhcp(message);
        expect(octets.length).toBeGreaterThanOrEqual(300);
        expect(decodeDhcp(octets)).toEqual(message);
      }),
    );
  });

  test('routes have as many octets of the prefix as matter (RFC 3442)', () => {
    const routes = [
      { cidr: '0.0.0.0/0', via: '10.0.0.1' },
      { cidr: '10.0.0.0/8', via: '10.0.0.2' },
      { cidr: '10.17.0.0/16', via: '10.0.0.3' },
      { cidr: '10.27.129.0/24', via: '10.0.0.4' },
      { cidr: '10.229.0.128/25', via: '10.0.0.5' },
      { cidr: '10.198.122.47/32', via: '10.0.0.6' },
    ];
    expect(toHex(routesOption(routes))).toBe(
      toHex(hex('00 0a000001 080a 0a000002 100a11 0a000003 180a1b81 0a000004 190ae50080 0a000005 200ac67a2f 0a000006')),
    );
  });

  test('a type is its number, and an option without octets is two of them', () => {
    expect(toHex(encodeOption(DHCP_OPTION.type, typeOption('nak')))).toBe('350106');
    expect(toHex(encodeOption(80, new Uint8Array()))).toBe('5000');
  });

  test('letters that cannot be said are question marks', () => {
    expect(toHex(textOption('vmä€'))).toBe('766d3f3f');
  });
});
