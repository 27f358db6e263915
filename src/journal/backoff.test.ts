import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

const POLICY = { firstMs: 250, longestMs: 10_000 };

test('each-failure-doubles-the-delay-up-to-the-longest', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8, 1e6].map((failures) => backoffMs(POLICY, failures));
  expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
});

test('no-failure-yet-is-waited-for-as-the-first-one', () => {
  expect(backoffMs(POLICY, 0)).toBe(250);
});

test('with-chance-the-delay-is-in-the-upper-half-in-whole-milliseconds', () => {
  const delays = [0, 0.3, 1].map((chance) => backoffMs(POLICY, 2, () => chance));
  expect(delays).toEqual([250, 325, 500]);
  expect(backoffMs({ firstMs: 5, longestMs: 5 }, 1, () => 0)).toBe(3);
});
