// When a view need not be composed to know that it is still the same.
import { expect, test } from 'vitest';
import { Composed } from './composed.ts';

const noted = (digest: string, revision: number, atMs = 0): Parameters<Composed['note']>[1] => ({
  digest,
  revision,
  atMs,
});

test('a-view-is-still-the-same-while-nothing-happens-to-its-host-and-not-for-ever', () => {
  const composed = new Composed();
  expect(composed.isStill('c1', 'd1', 0)).toBe(false);
  composed.note('c1', noted('d1', 5));
  expect(composed.isStill('c1', 'd1', 1000)).toBe(true);
  expect(composed.isStill('c1', 'd0', 1000)).toBe(false);
  expect(composed.isStill('c2', 'd1', 1000)).toBe(false);
  // Somebody may have forgotten to say that a change concerns it.
  expect(composed.isStill('c1', 'd1', 3_600_000)).toBe(false);
  composed.note('c1', noted('d1', 6, 3_600_000));
  expect(composed.isStill('c1', 'd1', 3_600_000)).toBe(true);
  composed.touch('c1');
  expect(composed.isStill('c1', 'd1', 3_600_000)).toBe(false);
});

test('a-view-holds-at-a-revision-by-what-was-composed-and-by-nothing-having-happened-since', () => {
  const composed = new Composed();
  composed.note('c1', noted('d1', 5));
  expect([composed.holdsAt('c1', 'd1', 5), composed.holdsAt('c1', 'd1', 9)]).toEqual([true, true]);
  composed.touch('c1');
  expect([composed.holdsAt('c1', 'd1', 5), composed.holdsAt('c1', 'd1', 9)]).toEqual([true, undefined]);
  composed.note('c1', noted('d2', 9));
  expect([composed.holdsAt('c1', 'd1', 9), composed.holdsAt('c1', 'd2', 9)]).toEqual([false, true]);
});
