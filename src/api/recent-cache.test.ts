import { expect, test } from 'vitest';
import { RecentCache } from './recent-cache.ts';

test('never: more are kept than twice as many as are to be', () => {
  const recent = new RecentCache<number>(100);
  let most = 0;
  for (let nth = 0; nth < 10_000; nth += 1) {
    recent.set(`k${nth}`, nth);
    most = Math.max(most, recent.size);
  }
  expect(most).toBe(200);
  expect([recent.get('k9999'), recent.get('k9900'), recent.get('k0')]).toEqual([9999, 9900, undefined]);
});

test('who-keeps-coming-stays-however-many-come-once', () => {
  const recent = new RecentCache<string>(10);
  recent.set('often', 'the same');
  for (let nth = 0; nth < 1000; nth += 1) {
    recent.set(`once-${nth}`, '');
    if (nth % 9 === 0) expect(recent.get('often')).toBe('the same');
  }
});

test('one-that-is-set-again-or-deleted-is-there-once-or-not-at-all', () => {
  const recent = new RecentCache<string>(2);
  for (const key of ['a', 'b', 'c', 'a', 'a']) recent.set(key, key);
  recent.set('a', 'anew');
  expect([recent.get('a'), recent.size]).toEqual(['anew', 3]);
  for (const key of ['a', 'b', 'c']) recent.delete(key);
  expect([recent.get('a'), recent.size]).toEqual([undefined, 0]);
});
