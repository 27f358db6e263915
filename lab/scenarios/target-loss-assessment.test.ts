// Each thing that a lost target may cost beyond its own packets is found, and nothing else is.
import { expect, test } from 'vitest';
import type { LoadVerdict } from '../oracle.ts';
import { assessTargetLoss, type TargetLoss } from './target-loss-assessment.ts';

const ENDS = { from: 1, to: 2 };
/** With a limit of a second. */
const LOSS: TargetLoss = { noticedMs: 300, designated: 1 };
const GOOD: LoadVerdict = {
  good: false,
  problems: ['300 of 9000 echo packets lost on the way there'],
  echo: { sent: 9000, forwardLost: 300, returnLost: 20 },
  push: { sent: 1200, lost: 60 },
  ping: { sent: 0, lost: 0 },
  tcp: { connections: 2, broken: 0 },
  duplicates: 0,
  overruns: 0,
  unstable: [],
  longestGapMs: { forward: 300, return: 300, push: 310, ping: 0, tcp: 400 },
};

test('packets-that-were-under-way-may-be-lost', () => {
  expect(assessTargetLoss(GOOD, ENDS, LOSS)).toEqual([]);
});

const { longestGapMs } = GOOD;

test.each<[string, Partial<LoadVerdict>, Partial<TargetLoss>, string]>([
  ['another-host-has-it', {}, { designated: 3 }, 'h3 is designated, and the old host h1 has the connections'],
  [
    'push-late',
    { longestGapMs: { ...longestGapMs, push: 1001 } },
    {},
    'what is only received stood still for 1001 ms, and may for 1000 ms',
  ],
  [
    'push-never-again',
    { push: { sent: 1200, lost: 201 } },
    {},
    '201 packets of what is only received were lost, and 200 may be',
  ],
  [
    'echo-late',
    { longestGapMs: { ...longestGapMs, forward: 1001 } },
    {},
    'what is sent stood still for 1001 ms, and may for 1000 ms',
  ],
  [
    'echo-never-again',
    { echo: { sent: 9000, forwardLost: 1490, returnLost: 11 } },
    {},
    '1501 packets of what is sent were lost, and 1500 may be',
  ],
  ['another-port-outside', { unstable: [7] }, {}, 'flow 7 did not keep its address and port'],
  ['tcp-broke', { tcp: { connections: 2, broken: 1 } }, {}, '1 of 2 TCP connections broke'],
  ['nothing-pushed', { push: { sent: 0, lost: 0 } }, {}, 'nothing was only received'],
])('%s is found', (_name, verdict, loss, problem) => {
  expect(assessTargetLoss({ ...GOOD, ...verdict }, ENDS, { ...LOSS, ...loss })).toEqual([problem]);
});

test('a-target-that-was-not-lost-shows-nothing', () => {
  expect(assessTargetLoss(GOOD, ENDS, undefined)).toEqual(['the new host was not lost']);
});
