import { describe, expect, test } from 'vitest';
import { ClockWatch, describeJump, jumpSince } from './clock-watch.ts';

const DAY_MS = 24 * 3600 * 1000;

describe('a clock that jumped', () => {
  test.each([
    ['time passes', 60_000, 60_000, undefined],
    ['a clock that is slewed', 60_030, 60_000, undefined],
    ['a clock that is set ahead', 60_000 + 40 * DAY_MS, 60_000, 'it went 3456000 s ahead of the time that passed'],
    ['a clock that is set back', -600_000, 60_000, 'it went 660 s back of the time that passed'],
    ['a machine that slept', 3_660_000, 60_000, 'it went 3600 s ahead of the time that passed'],
  ])('%s', (_name, wallMs, monotonicMs, expected) => {
    const watch = new ClockWatch({ wallMs: 1_790_000_000_000, monotonicMs: 5 });
    const jump = watch.look({ wallMs: 1_790_000_000_000 + wallMs, monotonicMs: 5 + monotonicMs });
    expect(jump && describeJump(jump)).toBe(expected);
    // It is told once: the next look goes on from there.
    expect(watch.look({ wallMs: 1_790_000_000_000 + wallMs + 1, monotonicMs: 6 + monotonicMs })).toBeUndefined();
  });

  test.each([
    ['an empty journal', undefined, undefined],
    ['a server that was off for a week', 7, undefined],
    ['thirty days', 30, undefined],
    ['forty days', 40, 'it says that the last commit was 40 days before this start'],
  ])('a start after %s', (_name, days, expected) => {
    const nowMs = 1_790_000_000_000;
    const jump = jumpSince(days === undefined ? undefined : nowMs - days * DAY_MS, nowMs);
    expect(jump && describeJump(jump)).toBe(expected);
  });
});
