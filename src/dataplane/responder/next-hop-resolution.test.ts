import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeArpFrame, encodeArpFrame, type Arp } from '../packets/arp.ts';
import { decodeNdFrame, encodeNdFrame } from '../packets/nd-frame.ts';
import { fuzzOctets } from '../packets/octets-fixture.ts';
import {
  REFRESH_MS,
  planQueries,
  learnBinding,
  listNextHops,
  updateNextHops,
  type NextHop,
  type NextHopTable,
} from './next-hop-resolution.ts';
import { encodeAddressQuery, readBinding } from './next-hop-frames.ts';

const HOST = '02:aa:00:00:00:01';
const HOP = '02:cc:00:00:00:01';
const LINK = { srcMac: HOP, dstMac: HOST };

describe('questions', () => {
  test('for IPv4 come from no address, and from the host’s own MAC address', () => {
    expect(decodeArpFrame(encodeAddressQuery({ mac: HOST, target: '198.51.100.1' }))).toMatchObject({
      link: { srcMac: HOST, dstMac: 'ff:ff:ff:ff:ff:ff' },
      arp: {
        operation: 'request',
        senderMac: HOST,
        senderIp: '0.0.0.0',
        targetMac: '00:00:00:00:00:00',
        targetIp: '198.51.100.1',
      },
    });
  });

  test('for IPv6 come from the host’s own address on the link', () => {
    expect(decodeNdFrame(encodeAddressQuery({ mac: HOST, target: '2001:db8:f::1' }))).toMatchObject({
      link: { srcMac: HOST, dstMac: '33:33:ff:00:00:01' },
      between: { src: 'fe80::aa:ff:fe00:1', dst: 'ff02::1:ff00:1' },
      message: { kind: 'neighbour-solicitation', target: '2001:db8:f::1', sourceMac: HOST },
    });
  });
});

describe('answers', () => {
  const arp = (change: Partial<Arp>): Uint8Array =>
    encodeArpFrame({
      link: LINK,
      arp: {
        operation: 'reply',
        senderMac: HOP,
        senderIp: '198.51.100.1',
        targetMac: HOST,
        targetIp: '0.0.0.0',
        ...change,
      },
    });
  const na = (targetMac: string | undefined): Uint8Array =>
    encodeNdFrame({
      link: LINK,
      between: { src: 'fe80::1', dst: 'fe80::2' },
      message: {
        kind: 'neighbour-advertisement',
        target: '2001:db8:f::1',
        router: true,
        solicited: true,
        override: true,
        ...(targetMac === undefined ? {} : { targetMac }),
      },
    });

  test.each<[string, Uint8Array, string | undefined]>([
    ['a-reply', arp({}), `198.51.100.1 ${HOP}`],
    ['an-announcement', arp({ operation: 'request', targetIp: '198.51.100.1' }), `198.51.100.1 ${HOP}`],
    ['anothers-question', arp({ operation: 'request', targetIp: '198.51.100.9' }), undefined],
    ['a-probe', arp({ operation: 'request', senderIp: '0.0.0.0', targetIp: '198.51.100.1' }), undefined],
    ['a-reply-of-the-unspecified-address', arp({ senderIp: '0.0.0.0' }), undefined],
    ['a-reply-with-a-group', arp({ senderMac: 'ff:ff:ff:ff:ff:ff' }), undefined],
    ['a-reply-without-mac', arp({ senderMac: '00:00:00:00:00:00' }), undefined],
    ['an-advertisement', na('02:cc:00:00:00:02'), '2001:db8:f::1 02:cc:00:00:00:02'],
    ['an-advertisement-without-mac', na(undefined), `2001:db8:f::1 ${HOP}`],
    ['a-solicitation', encodeAddressQuery({ mac: HOST, target: '2001:db8:f::1' }), undefined],
    ['nothing', new Uint8Array(), undefined],
  ])('%s', (_name, frame, line) => {
    const said = readBinding(frame);
    expect(said === undefined ? undefined : `${said.ip} ${said.mac}`).toBe(line);
  });

  test('never: a frame from nowhere makes it throw', () => {
    fc.assert(
      fc.property(fuzzOctets([arp({}), na(HOP)]), (frame) => {
        expect(['object', 'undefined']).toContain(typeof readBinding(frame));
      }),
      { numRuns: 300 },
    );
  });
});

describe('resolving', () => {
  const ONE: NextHop = { network: 'ext', ip: '198.51.100.1' };
  const TWO: NextHop = { network: 'ext', ip: '2001:db8:f::1' };

  /** The times of all queries from one time until another. */
  function queriesBetween(
    start: NextHopTable,
    fromMs: number,
    untilMs: number,
  ): { times: number[]; after: NextHopTable } {
    let resolving = start;
    const times: number[] = [];
    for (let nowMs = fromMs; nowMs <= untilMs;) {
      const { queries, table, nextAtMs } = planQueries(resolving, nowMs);
      if (queries.length > 0) times.push(nowMs);
      resolving = table;
      expect(nextAtMs).toBeGreaterThan(nowMs);
      nowMs = nextAtMs ?? untilMs + 1;
    }
    return { times, after: resolving };
  }

  test('one that is not known is asked for at once, soon again, and then less often', () => {
    const { times, after } = queriesBetween(updateNextHops([], [ONE]), 1000, 20_000);
    expect(times).toEqual([1000, 1200, 1400, 1900, 2900, 4900, 9900, 14_900, 19_900]);
    expect(listNextHops(after)).toEqual([{ ...ONE, state: 'unknown', unansweredSinceMs: 1000 }]);
  });

  test('one that is known is asked for every half minute', () => {
    let { table } = planQueries(updateNextHops([], [ONE]), 0);
    for (const atMs of [5, 5 + REFRESH_MS, 5 + 2 * REFRESH_MS]) {
      const learned = learnBinding(table, { ...ONE, mac: HOP }, atMs);
      expect(learned.outcome).toBe(atMs === 5 ? 'first' : 'same');
      expect(listNextHops(learned.table)).toEqual([{ ...ONE, state: 'known', mac: HOP }]);
      expect(planQueries(learned.table, atMs + REFRESH_MS - 1)).toMatchObject({
        queries: [],
        nextAtMs: atMs + REFRESH_MS,
      });
      const next = planQueries(learned.table, atMs + REFRESH_MS);
      expect(next.queries).toEqual([ONE]);
      table = next.table;
    }
  });

  test('one that does not answer any more keeps its MAC address, and says since when', () => {
    const known = learnBinding(planQueries(updateNextHops([], [ONE]), 0).table, { ...ONE, mac: HOP }, 0).table;
    const soon = queriesBetween(known, 0, REFRESH_MS + 300);
    expect(soon.times).toEqual([30_000, 30_200]);
    expect(listNextHops(soon.after)).toEqual([{ ...ONE, state: 'known', mac: HOP, unansweredSinceMs: 30_000 }]);
    const { times, after } = queriesBetween(soon.after, REFRESH_MS + 300, 45_000);
    expect(times).toEqual([30_400, 30_900, 31_900, 33_900, 38_900, 43_900]);
    expect(listNextHops(after)).toEqual([{ ...ONE, state: 'stale', mac: HOP, unansweredSinceMs: 30_000 }]);
    const again = learnBinding(after, { ...ONE, mac: '02:cc:00:00:00:02' }, 45_100);
    expect(again.outcome).toBe('moved');
    expect(listNextHops(again.table)).toEqual([{ ...ONE, state: 'known', mac: '02:cc:00:00:00:02' }]);
  });

  test('what is wanted no more is forgotten, what still is keeps what is known', () => {
    const known = learnBinding(updateNextHops([], [ONE, TWO]), { ...ONE, mac: HOP }, 0).table;
    const fewer = updateNextHops(known, [ONE, ONE]);
    expect(listNextHops(fewer)).toEqual([{ ...ONE, state: 'known', mac: HOP }]);
    expect(listNextHops(updateNextHops(fewer, [TWO, ONE]))).toEqual([
      { ...ONE, state: 'known', mac: HOP },
      { ...TWO, state: 'unknown' },
    ]);
    expect(planQueries(updateNextHops(known, []), 0)).toEqual({ queries: [], table: [] });
  });

  test('an unsolicited reply, or one in another network, is not learned', () => {
    const resolving = updateNextHops([], [ONE]);
    for (const said of [
      { ...ONE, network: 'other', mac: HOP },
      { ...TWO, mac: HOP },
    ]) {
      expect(learnBinding(resolving, said, 0)).toEqual({ table: resolving, outcome: 'unwanted' });
    }
  });
});
