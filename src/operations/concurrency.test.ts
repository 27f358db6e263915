// The concurrency limit of each driver, and the order of the items that wait.
import { expect, test } from 'vitest';
import { DriverConcurrency } from './concurrency.ts';
import type { OperationId } from './model.ts';

const operation = 'op-1' as OperationId;

function filled(driver: string, count: number, max?: number): { room: DriverConcurrency; entered: number } {
  const room = new DriverConcurrency();
  const by = { driver, operation, ...(max !== undefined && { max }) };
  const entered = Array.from({ length: count }, (_, at) => room.tryAcquire(`${driver}-${at}`, by)).filter(
    Boolean,
  ).length;
  return { room, entered };
}

test('a-driver-that-is-full-does-not-keep-the-others', () => {
  const { room, entered } = filled('views', 100);
  expect(entered).toBe(64);
  expect(room.tryAcquire('x', { driver: 'switch', operation })).toBe(true);
});

test('a-driver-with-a-higher-limit-has-more-capacity', () => {
  expect(filled('views', 600, 512).entered).toBe(512);
});

test('the-longest-waiting-item-has-the-next-turn, once', () => {
  const { room } = filled('views', 3, 1);
  expect(room.release('views-0', 1)).toEqual([['views-1', operation]]);
  expect(room.tryAcquire('views-1', { driver: 'views', operation, max: 1 })).toBe(true);
  expect(room.release('views-1', 1)).toEqual([['views-2', operation]]);
  expect(room.busy.size).toBe(0);
});

test('an-item-that-waits-is-queued-until-there-is-capacity, though it was not called', () => {
  const { room } = filled('views', 3, 1);
  expect(['views-0', 'views-1', 'views-2', 'x'].map((item) => room.queued.has(item))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  // Also while the item whose turn it is has not acquired.
  room.release('views-0', 1);
  expect(room.queued.has('views-2')).toBe(false);
});
