import { describe, expect, test } from 'vitest';
import { ClockWatch, describeJump, findJumpBefore } from './clock-watch.ts';

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
    const jump = watch.compare({ wallMs: 1_790_000_000_000 + wallMs, monotonicMs: 5 + monotonicMs });
    expect(jump && describeJump(jump)).toBe(expected);
    // It is reported once: the next check continues from there.
    expect(watch.compare({ wallMs: 1_790_000_000_000 + wallMs + 1, monotonicMs: 6 + monotonicMs })).toBeUndefined();
  });

  const NOW_MS = 1_790_000_000_000;
  const daysBefore = (...days: readonly number[]): number[] => days.map((one) => NOW_MS - one * DAY_MS);
  test.each([
    ['an-empty-journal', [], undefined],
    ['a-server-that-was-off-for-a-week', daysBefore(7), undefined],
    ['thirty-days', daysBefore(30), undefined],
    ['forty-days', daysBefore(40, 41), 40],
    // Written with a clock that had jumped, by a server that was killed before it noticed.
    ['a-commit-of-the-wrong-clock', daysBefore(0, 0, 40, 41), 40],
    ['commits-of-a-clock-that-is-right-again', daysBefore(-40, -40, 1), 41],
    ['commits-of-a-clock-that-was-behind', daysBefore(0, 40, 0), 40],
  ])('a start after %s', (_name, commitsMs, days) => {
    const jump = findJumpBefore(commitsMs, NOW_MS);
    expect(jump && describeJump(jump)).toBe(
      days && `by the times of the newest commits it went ahead by ${days} days while nothing was written`,
    );
  });
});
