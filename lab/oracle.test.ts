import { describe, expect, test } from 'vitest';
import { assess, mayBeHeldUp } from './oracle.ts';
import type { EchoResult, PushResult, TcpResult, TrafficResults } from './traffic/results.ts';

const echo = (over: Partial<EchoResult> = {}): EchoResult => ({
  flow: 1,
  from: 'vm1',
  sent: 100,
  seen: 100,
  returned: 100,
  duplicates: 0,
  forwardGapMs: 3,
  returnGapMs: 4,
  pairs: ['198.51.100.10:4001'],
  ...over,
});
const push = (over: Partial<PushResult> = {}): PushResult => ({
  flow: 2,
  to: 'vm1',
  sent: 50,
  received: 50,
  duplicates: 0,
  gapMs: 6,
  pairs: ['198.51.100.10:4002'],
  ...over,
});
const tcp = (over: Partial<TcpResult> = {}): TcpResult => ({
  flow: 3,
  from: 'vm1',
  direction: 'upload',
  sentBytes: 1000,
  receivedBytes: 1000,
  gapMs: 20,
  pairs: ['198.51.100.10:4001'],
  ...over,
});
const results = (over: Partial<TrafficResults> = {}): TrafficResults => ({
  echo: [echo()],
  push: [push()],
  tcp: [tcp()],
  ping: [{ from: 'vm1', to: '198.51.100.1', sent: 10, returned: 10, longestGapMs: 101 }],
  ...over,
});

test('nothing-lost-and-every-flow-one-pair-is-good', () => {
  expect(assess(results())).toEqual({
    good: true,
    problems: [],
    echo: { sent: 100, forwardLost: 0, returnLost: 0 },
    push: { sent: 50, lost: 0 },
    ping: { sent: 10, lost: 0 },
    tcp: { connections: 1, broken: 0 },
    duplicates: 0,
    overruns: 0,
    unstable: [],
    longestGapMs: { forward: 3, return: 4, push: 6, ping: 101, tcp: 20 },
  });
});

test.each<[string, Partial<TrafficResults>, boolean]>([
  ['late-and-nothing-lost', { echo: [echo({ returnGapMs: 200 })] }, true],
  [
    'late-and-what-is-lost-was-dropped-by-the-machine',
    { echo: [echo({ returnGapMs: 300, seen: 97, returned: 97 })], overruns: 6 },
    true,
  ],
  ['late-and-pushed-packets-cut', { echo: [echo({ forwardGapMs: 250 })], push: [push({ received: 3 })] }, true],
  ['late-and-more-lost-than-that', { echo: [echo({ returnGapMs: 300, seen: 90, returned: 90 })], overruns: 9 }, false],
  ['in-time', { push: [push({ received: 3 })], overruns: 100 }, false],
])('held-up: %s', (_name, over, expected) => {
  expect(mayBeHeldUp(assess(results(over)))).toBe(expected);
});

describe('each trouble is named', () => {
  test.each<[string, Partial<TrafficResults>, string]>([
    ['forward', { echo: [echo({ seen: 90, returned: 90 })] }, '10 of 100 echo packets lost on the way there'],
    ['return', { echo: [echo({ seen: 90, returned: 88 })] }, '2 of 90 echo packets lost on the way back'],
    [
      'when',
      {
        echo: [
          echo({
            seen: 97,
            returned: 97,
            lost: [1000, 1000, 62_500].map((sentAtMs, sequence) => ({ sequence, sentAtMs })),
          }),
        ],
      },
      'what vm1 lost was sent at 00:00:01.000, 00:01:02.500',
    ],
    ['push', { push: [push({ received: 49 })] }, '1 of 50 pushed packets lost'],
    ['ping', { ping: [{ from: 'a', to: 'b', sent: 9, returned: 8, longestGapMs: 1 }] }, '1 of 9 pings lost'],
    ['twice', { echo: [echo({ duplicates: 2 })] }, '2 of 150 packets arrived twice'],
    ['changed-pair', { echo: [echo({ pairs: ['a:1', 'a:2'] })] }, 'flow 1 came from a:1 and a:2'],
    ['never-seen', { push: [push({ pairs: [] })] }, 'flow 2 was never seen'],
    [
      'shared-pair',
      { push: [push({ pairs: ['198.51.100.10:4001'] })] },
      'UDP 198.51.100.10:4001 was used by flows 1, 2',
    ],
    ['tcp-broken', { tcp: [tcp({ failure: 'reset' })] }, 'upload 3 broke: reset (1000 of 1000 bytes)'],
    ['tcp-short', { tcp: [tcp({ receivedBytes: 9 })] }, 'upload 3 broke: bytes are missing (9 of 1000 bytes)'],
    ['tcp-slow', { tcp: [tcp({ gapMs: 101 })] }, 'upload 3 stood still for 101 ms'],
    ['no-echo', { echo: [echo({ sent: 0, seen: 0, returned: 0 })] }, 'flow 1 sent nothing'],
    ['no-push', { push: [push({ sent: 0, received: 0 })] }, 'flow 2 was pushed nothing'],
    ['no-tcp', { tcp: [tcp({ sentBytes: 0, receivedBytes: 0 })] }, 'connection 3 carried nothing'],
    ['nothing-at-all', { echo: [], push: [], tcp: [], ping: [] }, 'there was no traffic'],
  ])('%s', (_name, over, problem) => {
    const verdict = assess(results(over), { tcpGapMs: 100 });
    expect(verdict.good).toBe(false);
    expect(verdict.problems).toContain(problem);
  });
});

test('a-pair-of-udp-and-the-same-of-tcp-are-two', () => {
  expect(assess(results({ tcp: [tcp({ pairs: ['198.51.100.10:4001'] })] })).good).toBe(true);
});
