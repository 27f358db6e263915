import { expect, test } from 'vitest';
import type { IntegrityFinding } from '../alarms/index.ts';
import { Fleet } from '../fleet/index.ts';
import { steadyTime } from './clock.ts';
import { newRegistry } from './rooms.ts';
import { trustedTime } from './trusted-time.ts';

const DAY_MS = 24 * 3600 * 1000;
const START_MS = 1_790_000_000_000;

test('a clock set ahead, put right and confirmed: the time is the wall clock, not the steady time that is still ahead', () => {
  const clocks = { wallMs: START_MS, monotonicMs: 0 };
  const steady = steadyTime(
    () => clocks.wallMs,
    () => clocks.monotonicMs,
  );
  const fleet = new Fleet(newRegistry());
  fleet.loaded(0);
  const reported: string[] = [];
  let isDoubted = false;
  const integrity = {
    report: ({ code, place }: IntegrityFinding) => {
      reported.push(`${code}:${place}`);
      isDoubted = true;
    },
    hasPending: () => isDoubted,
  };
  const readClocks = () => ({ ...clocks });
  const trusted = trustedTime({ journal: { fleet }, integrity, readClocks, server: 'm1:7070' });
  const pass = (wallMs: number): number | undefined => {
    clocks.wallMs += wallMs;
    clocks.monotonicMs += 60_000;
    steady();
    return trusted();
  };
  expect(pass(60_000)).toBe(START_MS + 60_000);
  expect(pass(60_000 + 40 * DAY_MS)).toBeUndefined();
  expect(pass(60_000 - 40 * DAY_MS)).toBeUndefined();
  expect(pass(60_000)).toBeUndefined();
  expect(reported).toEqual(['clock-jumped:m1:7070', 'clock-jumped:m1:7070']);
  isDoubted = false;
  expect(pass(60_000)).toBe(START_MS + 5 * 60_000);
  expect(steady()).toBeGreaterThan(START_MS + 39 * DAY_MS);
});
