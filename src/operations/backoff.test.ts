import { expect, test } from 'vitest';
import { idOf } from '../fleet/index.ts';
import { retryWithBackoff, waitWithBackoff } from './backoff.ts';
import type { StoredItem } from './kind.ts';
import { ITEM, type Item } from './model.ts';

const REASON = { code: 'not-ready' };
const item = (attempt: number): StoredItem => ({
  id: idOf(ITEM, 'op-1.a'),
  revision: 1,
  doc: { step: 'look', attempt } as Item,
});

test.each([
  [1, 2000],
  [2, 4000],
  [5, 32_000],
  [6, 60_000],
  [100, 60_000],
])('attempt %i is waited for %i ms', (attempt, delayMs) => {
  const waiting = { state: 'waiting', step: 'look', reason: REASON, retryAtMs: 7 + delayMs };
  expect(waitWithBackoff(item(attempt), REASON, { nowMs: 7 }).progress).toEqual(waiting);
  expect(retryWithBackoff(item(attempt), REASON, { nowMs: 7 }).progress).toEqual({ ...waiting, attempt: attempt + 1 });
});

test('a-policy-of-its-own-is-kept-to', () => {
  const policy = { firstMs: 500, longestMs: 1000 };
  const delays = [1, 2, 3].map(
    (attempt) => waitWithBackoff(item(attempt), REASON, { nowMs: 0, policy }).progress.retryAtMs,
  );
  expect(delays).toEqual([500, 1000, 1000]);
});
