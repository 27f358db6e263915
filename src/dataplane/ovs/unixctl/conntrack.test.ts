// Dumps as Open vSwitch 3.1 prints them, and whatever else may come.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConntrack } from './conntrack.ts';
import { parseNeighbours } from './neighbour.ts';

const DUMP = `udp,orig=(src=10.0.0.11,dst=198.51.100.1,sport=4000,dport=53),reply=(src=198.51.100.1,dst=198.51.100.50,sport=53,dport=21497),zone=7,timeout=58
tcp,orig=(src=10.0.0.11,dst=198.51.100.1,sport=4001,dport=80),reply=(src=198.51.100.1,dst=198.51.100.50,sport=80,dport=29686),zone=7,timeout=28,protoinfo=(state=SYN_SENT)
icmp,orig=(src=10.0.0.11,dst=198.51.100.1,id=9,type=8,code=0),reply=(src=198.51.100.1,dst=198.51.100.50,id=9,type=0,code=0),zone=7
icmpv6,orig=(src=fd00::11,dst=2001:db8::1,id=0,type=128,code=0),reply=(src=2001:db8::1,dst=2001:db8::50,id=0,type=129,code=0),zone=8,timeout=58
sctp,orig=(src=10.0.0.12,dst=198.51.100.99,sport=1,dport=2),reply=(src=198.51.100.99,dst=10.0.0.12,sport=2,dport=1),mark=5,labels=0x1234567890
47,orig=(src=10.0.0.12,dst=198.51.100.99,sport=0,dport=0),reply=(src=198.51.100.99,dst=10.0.0.12,sport=0,dport=0),zone=9,timeout=58,mark=5
tcp,orig=(src=fd00::11,dst=2001:db8::1,sport=4000,dport=53),reply=(src=2001:db8::1,dst=2001:db8::50,sport=53,dport=4000),id=0,zone=8,status=0,timeout=28,protoinfo=(state_orig=SYN_SENT,state_reply=CLOSED,flags_orig=0,flags_reply=0)
`;

describe('conntrack', () => {
  test('every-kind-of-entry-is-read', () => {
    const inside = { src: '10.0.0.11', dst: '198.51.100.1' };
    const outside = { src: '198.51.100.1', dst: '198.51.100.50' };
    const gre = { sport: 0, dport: 0 };
    expect(parseConntrack(DUMP)).toEqual({
      unreadable: [],
      entries: [
        {
          protocol: 'udp',
          original: { ...inside, sport: 4000, dport: 53 },
          reply: { ...outside, sport: 53, dport: 21_497 },
          zone: 7,
          timeoutS: 58,
        },
        {
          protocol: 'tcp',
          original: { ...inside, sport: 4001, dport: 80 },
          reply: { ...outside, sport: 80, dport: 29_686 },
          state: 'SYN_SENT',
          zone: 7,
          timeoutS: 28,
        },
        {
          protocol: 'icmp',
          original: { ...inside, id: 9, type: 8, code: 0 },
          reply: { ...outside, id: 9, type: 0, code: 0 },
          zone: 7,
        },
        {
          protocol: 'icmpv6',
          original: { src: 'fd00::11', dst: '2001:db8::1', id: 0, type: 128, code: 0 },
          reply: { src: '2001:db8::1', dst: '2001:db8::50', id: 0, type: 129, code: 0 },
          zone: 8,
          timeoutS: 58,
        },
        {
          protocol: 'other',
          name: 'sctp',
          original: { src: '10.0.0.12', dst: '198.51.100.99', sport: 1, dport: 2 },
          reply: { src: '198.51.100.99', dst: '10.0.0.12', sport: 2, dport: 1 },
          zone: 0,
          mark: 5,
        },
        {
          protocol: 'other',
          name: '47',
          original: { src: '10.0.0.12', dst: '198.51.100.99', ...gre },
          reply: { src: '198.51.100.99', dst: '10.0.0.12', ...gre },
          zone: 9,
          timeoutS: 58,
          mark: 5,
        },
        {
          protocol: 'tcp',
          original: { src: 'fd00::11', dst: '2001:db8::1', sport: 4000, dport: 53 },
          reply: { src: '2001:db8::1', dst: '2001:db8::50', sport: 53, dport: 4000 },
          state: 'SYN_SENT',
          zone: 8,
          timeoutS: 28,
        },
      ],
    });
  });

  test('nothing-is-nothing', () => {
    expect(parseConntrack('')).toEqual({ entries: [], unreadable: [] });
  });

  test.each([
    'udp',
    'udp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=1,dport=2)',
    'udp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=1,dport=70000),reply=(src=10.0.0.2,dst=10.0.0.1,sport=2,dport=1)',
    'udp,orig=(src=,dst=10.0.0.2,sport=1,dport=2),reply=(src=10.0.0.2,dst=10.0.0.1,sport=2,dport=1)',
    'icmp,orig=(src=10.0.0.1,dst=10.0.0.2),reply=(src=10.0.0.2,dst=10.0.0.1)',
    'udp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=1,dport=2),reply=(src=10.0.0.2,dst=10.0.0.1,sport=2,dport=1),zone=70000',
    'udp,orig=((src=1)),reply=()',
  ])('what-cannot-be-read-is-kept-as-a-line: %s', (line) => {
    expect(parseConntrack(`${line}\n`)).toEqual({ entries: [], unreadable: [line] });
  });

  test('never: a line is lost, whatever it is', () => {
    const part = fc.constantFrom(
      'udp',
      'orig=',
      'reply=',
      '(',
      ')',
      ',',
      'src=',
      'dst=',
      '1.2.3.4',
      'sport=1',
      'zone=7',
      '=',
    );
    const near = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(''));
    const anyText = fc.array(fc.nat(0xffff), { maxLength: 200 }).map((codes) => String.fromCharCode(...codes));
    const cut = fc.nat(DUMP.length).map((at) => DUMP.slice(0, at));
    fc.assert(
      fc.property(fc.oneof(anyText, near, cut), (text) => {
        const { entries, unreadable } = parseConntrack(text);
        const lines = text.split('\n').filter((line) => line.trim() !== '');
        expect(entries.length + unreadable.length).toBe(lines.length);
      }),
      { numRuns: 500 },
    );
  });
});

describe('neighbours', () => {
  test('they-are-read-and-the-heading-is-not', () => {
    const shown = `IP                                            MAC                 Bridge
==========================================================================
172.16.0.2                                    02:bb:00:00:00:02   br-phy
fd00::99                                      02:bb:00:00:00:03   br-phy
`;
    expect(parseNeighbours(shown)).toEqual([
      { address: '172.16.0.2', mac: '02:bb:00:00:00:02', bridge: 'br-phy' },
      { address: 'fd00::99', mac: '02:bb:00:00:00:03', bridge: 'br-phy' },
    ]);
  });

  test('never: random text does anything but give neighbours', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        expect(parseNeighbours(text).length).toBeLessThanOrEqual(text.split('\n').length);
      }),
    );
  });
});
