// What both ends of the traffic count, without a network.
import { describe, expect, test } from 'vitest';
import { Arrivals, pairOf } from './arrivals.ts';
import type { ClientResult, ServedFlow } from './messages.ts';
import { decodePacket, encodePacket } from './packet.ts';
import { combineResults } from './results.ts';
import { usualFlows } from './usual-load.ts';

test('a-packet-comes-out-as-it-went-in', () => {
  const packet = { kind: 'push', flow: 4_000_000_000, sequence: 70_000, everyMs: 0.5 } as const;
  expect(decodePacket(encodePacket(packet))).toEqual(packet);
});

test('what-is-not-ours-is-not-read', () => {
  expect(decodePacket(Buffer.alloc(64))).toBeUndefined();
  expect(decodePacket(Buffer.from('hello'))).toBeUndefined();
});

test('arrivals-count-packets-repetitions-the-longest-gap-and-where-from', () => {
  const arrivals = new Arrivals();
  for (const [sequence, atMs] of [
    [0, 100],
    [2, 110],
    [1, 145],
    [1, 146],
  ] as const) {
    arrivals.add(sequence, atMs);
  }
  arrivals.addPair(pairOf('::ffff:192.0.2.1', 7));
  arrivals.addPair(pairOf('192.0.2.1', 7));
  arrivals.addPair(pairOf('2001:db8::1', 7));
  expect(arrivals.stats).toEqual({
    packets: 3,
    duplicates: 1,
    longestGapMs: 35,
    pairs: ['192.0.2.1:7', '[2001:db8::1]:7'],
  });
});

describe('both ends are put together', () => {
  const arrived = { packets: 0, duplicates: 0, longestGapMs: 0, pairs: ['a:1'] };
  const client = (over: Partial<ClientResult>): ClientResult => ({
    flow: 1,
    kind: 'echo',
    sent: 0,
    receivedBytes: 0,
    everyMs: 10,
    ...arrived,
    ...over,
  });
  const served = (over: Partial<ServedFlow>): ServedFlow => ({
    flow: 1,
    sent: 0,
    receivedBytes: 0,
    ...arrived,
    ...over,
  });

  test('echo-knows-what-was-seen-on-the-way', () => {
    const { echo } = combineResults(
      [{ source: 'vm1', results: [client({ sent: 9, packets: 7, duplicates: 1 })] }],
      [served({ packets: 8, longestGapMs: 30 })],
    );
    expect(echo).toMatchObject([
      { from: 'vm1', sent: 9, seen: 8, returned: 7, duplicates: 1, forwardGapMs: 20, returnGapMs: 0 },
    ]);
  });

  test('a-flow-of-which-nothing-arrived-was-seen-from-nowhere', () => {
    const { echo } = combineResults([{ source: 'vm1', results: [client({ sent: 9, packets: 0 })] }], []);
    expect(echo).toMatchObject([{ sent: 9, seen: 0, returned: 0, pairs: [] }]);
  });

  test('a-stream-is-counted-where-it-ends', () => {
    const results = [
      client({ flow: 2, kind: 'push', packets: 5 }),
      client({ flow: 3, kind: 'upload', sent: 100 }),
      client({ flow: 4, kind: 'download', receivedBytes: 70, failure: 'reset' }),
    ];
    const seen = [served({ flow: 2, sent: 6 }), served({ flow: 3, receivedBytes: 90 }), served({ flow: 4, sent: 80 })];
    const { push, tcp } = combineResults([{ source: 'vm1', results }], seen);
    expect(push).toMatchObject([{ sent: 6, received: 5 }]);
    expect(tcp).toMatchObject([
      { direction: 'upload', sentBytes: 100, receivedBytes: 90 },
      { direction: 'download', sentBytes: 80, receivedBytes: 70, failure: 'reset' },
    ]);
  });
});

test('the-usual-load-is-shared-by-its-sources-and-no-number-is-used-twice', () => {
  const load = { address: 'a', port: 1, echoPerSecond: 1500, pushPerSecond: 200, tcp: true, beginning: true };
  const flows = usualFlows(3, { ...load, sourcePort: 5000 });
  expect(flows.map((some) => some.map(({ kind }) => kind))).toEqual([
    ['echo', 'upload', 'beginning'],
    ['echo', 'beginning'],
    ['echo', 'push', 'download', 'beginning'],
  ]);
  expect(flows.map(([first]) => first)).toMatchObject(flows.map(() => ({ everyMs: 2, sourcePort: 5000 })));
  const started = flows.map((some) => some.at(-1));
  expect(started).toMatchObject(flows.map(() => ({ kind: 'beginning', sourcePort: 5001 })));
  const numbers = flows
    .flat()
    .flatMap((flow) => [flow.flow, flow.flow + (flow.kind === 'beginning' ? flow.most - 1 : 0)]);
  expect(new Set(numbers).size).toBe(numbers.length - flows.flat().filter(({ kind }) => kind !== 'beginning').length);
});
