// Each thing that may go wrong beside a sick router is found, and nothing else is.
import { expect, test } from 'vitest';
import {
  figuresOf,
  assessSickRun,
  assessSickTimes,
  type RouterDeparture,
  type SickRun,
} from './sick-router-assessment.ts';

const REASON = 'next hop 203.0.113.1 does not answer';
const without: RouterDeparture = {
  services: ['nat:r2', 'nat:r3'],
  instances: ['vm1'],
  stayed: [],
  switchedMs: 400,
  handoverMs: 1000,
  emptiedMs: 2000,
};
const beside: RouterDeparture = {
  ...without,
  services: [...without.services, 'subnet-route:sick-v4'],
  handoverMs: 1100,
};
const GOOD: SickRun = {
  leaving: 'h1',
  reason: REASON,
  without,
  beside,
  reportedReasons: { 'the alarm': `nat:sick cannot be provided by h2 yet: ${REASON}.` },
  recovery: { stateAfter: 'active', durationMs: 300, sickAt: 'h1', hasEnded: true },
};

test('a-run-in-which-all-but-the-sick-service-leave-is-good, and-says-how-long-it-took', () => {
  expect(assessSickRun(GOOD)).toEqual([]);
  expect(figuresOf(GOOD)).toEqual([
    '3 healthy services switched after 400 ms (without the sick router 400 ms, ratio 1.00)',
    'handed over after 1100 ms (without the sick router 1000 ms, ratio 1.10)',
    '1 instances left after 2000 ms (without the sick router 2000 ms, ratio 1.00)',
    'recovered after 300 ms',
  ]);
});

const { recovery } = GOOD;

test.each<[string, Partial<SickRun>]>([
  [
    'switching-within-three-times',
    { without: { ...without, switchedMs: 1200 }, beside: { ...beside, switchedMs: 3600 } },
  ],
  ['switching-within-three-seconds', { beside: { ...beside, switchedMs: 3000 } }],
  ['recover-within-ten-seconds', { recovery: { ...recovery, durationMs: 10_000 } }],
])('%s is fast enough', (_name, facts) => {
  expect(assessSickTimes({ ...GOOD, ...facts })).toEqual([]);
});

test.each<[string, Partial<SickRun>, string]>([
  [
    'healthy-services-are-slow',
    { without: { ...without, switchedMs: 1200 }, beside: { ...beside, switchedMs: 3601 } },
    'healthy services switched after 3601 ms, and may take 3600 ms (without the sick router 1200 ms)',
  ],
  [
    'healthy-services-are-slow-where-they-were-fast',
    { beside: { ...beside, switchedMs: 3001 } },
    'healthy services switched after 3001 ms, and may take 3000 ms (without the sick router 400 ms)',
  ],
  [
    'recover-is-slow',
    { recovery: { ...recovery, durationMs: 10_001 } },
    'recover took 10001 ms, and may take 10000 ms',
  ],
])('%s', (_name, facts, problem) => {
  const ran = { ...GOOD, ...facts };
  expect(assessSickTimes(ran)).toEqual([problem]);
  expect(assessSickRun(ran)).toEqual([]);
});

test.each<[string, Partial<SickRun>, string]>([
  [
    'healthy-service-waits',
    { beside: { ...beside, stayed: ['nat:r3'] } },
    'nat:r3 did not leave beside the sick router',
  ],
  ['instance-waits', { beside: { ...beside, stayed: ['vm1'] } }, 'vm1 did not leave beside the sick router'],
  ['host-is-sick-itself', { without: { ...without, stayed: ['vm1'] } }, 'vm1 did not leave without the sick router'],
  ['nothing-to-leave', { without: { ...without, instances: [] } }, 'no instances had to leave'],
  ['not-all-came-back', { beside: { ...beside, services: ['nat:r2'] } }, 'nat:r3 was not there the second time'],
  [
    'reason-is-not-told',
    { reportedReasons: { 'hosts show h2': 'State active' } },
    `hosts show h2 does not say "${REASON}" but "State active"`,
  ],
  ['recover-hangs', { recovery: { ...recovery, stateAfter: 'recovering' } }, 'h1 is recovering after recover'],
  ['recover-retargets', { recovery: { ...recovery, sickAt: 'h2' } }, 'recover left the sick service at h2'],
  [
    'handover-goes-on',
    { recovery: { ...recovery, hasEnded: false } },
    'the handover of the sick service goes on after recover',
  ],
])('%s is found', (_name, facts, problem) => {
  expect(assessSickRun({ ...GOOD, ...facts })).toEqual([problem]);
});
