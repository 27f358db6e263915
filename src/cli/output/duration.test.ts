import { describe, expect, test } from 'vitest';
import { parseDuration, parseTimeout, relativeTime, durationText } from './duration.ts';

const H = 3600 * 1000;

describe('spans of time', () => {
  test.each([
    ['30', 30_000],
    ['1.5', 1500],
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 1.5 * H],
    ['2d', 48 * H],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms));

  test.each(['', 'soon', '5 m', '-5s', '1h30', '5w'])('%j is refused with an example', (text) => {
    expect(() => parseDuration(text)).toThrow('Write it like 30s, 5m, 1h30m or 2d');
  });

  test('a timer is never set for longer than timers go', () => {
    expect(parseTimeout('5m')).toBe(300_000);
    expect(parseTimeout('30d')).toBe(2_147_483_647);
  });

  test.each([
    [500, '0s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [2 * H + 5 * 60_000, '2h 5m'],
    [3 * H, '3h'],
    [50 * H, '2d 2h'],
    [24 * 30 * H, '30d'],
  ])('%i ms is printed as %s', (ms, text) => expect(durationText(ms)).toBe(text));

  test('before-and-after', () => {
    expect(relativeTime(0, 5 * 60_000)).toBe('5m ago');
    expect(relativeTime(5 * 60_000, 0)).toBe('in 5m');
    expect(relativeTime(1000, 0)).toBe('now');
  });
});
