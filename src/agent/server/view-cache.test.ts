// When a view need not be composed to know that it is still the same.
import { expect, test } from 'vitest';
import { ViewCache } from './view-cache.ts';

const noted = (digest: string, revision: number, atMs = 0): Parameters<ViewCache['record']>[1] => ({
  digest,
  revision,
  atMs,
});

test('a-view-is-still-the-same-while-nothing-happens-to-its-host-and-not-for-ever', () => {
  const composed = new ViewCache();
  expect(composed.isCurrent('c1', 'd1', 0)).toBe(false);
  composed.record('c1', noted('d1', 5));
  expect(composed.isCurrent('c1', 'd1', 1000)).toBe(true);
  expect(composed.isCurrent('c1', 'd0', 1000)).toBe(false);
  expect(composed.isCurrent('c2', 'd1', 1000)).toBe(false);
  // A view part may have forgotten to say that a change affects it.
  expect(composed.isCurrent('c1', 'd1', 3_600_000)).toBe(false);
  composed.record('c1', noted('d1', 6, 3_600_000));
  expect(composed.isCurrent('c1', 'd1', 3_600_000)).toBe(true);
  composed.invalidate('c1');
  expect(composed.isCurrent('c1', 'd1', 3_600_000)).toBe(false);
});

test('a-view-holds-at-a-revision-by-what-was-composed-and-by-nothing-having-happened-since', () => {
  const composed = new ViewCache();
  composed.record('c1', noted('d1', 5));
  expect([composed.isValidAt('c1', 'd1', 5), composed.isValidAt('c1', 'd1', 9)]).toEqual([true, true]);
  composed.invalidate('c1');
  expect([composed.isValidAt('c1', 'd1', 5), composed.isValidAt('c1', 'd1', 9)]).toEqual([true, undefined]);
  composed.record('c1', noted('d2', 9));
  expect([composed.isValidAt('c1', 'd1', 9), composed.isValidAt('c1', 'd2', 9)]).toEqual([false, true]);
});
