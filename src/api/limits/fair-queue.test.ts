import { expect, test } from 'vitest';
import { FairQueue } from './fair-queue.ts';

function queueOf(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const item of items) queue.add(item.slice(0, 1), item);
  return queue;
}

test('fair-queue-takes-turns-by-caller, and keeps the order of each', () => {
  const queue = queueOf('a1', 'a2', 'a3', 'b1', 'c1', 'b2');
  expect(Array.from({ length: 7 }, () => queue.take())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
  expect(queue.size).toBe(0);
});

test('fair-queue-skips-who-may-not-have-one-now', () => {
  const queue = queueOf('a1', 'a2', 'b1');
  expect(queue.take((caller) => caller !== 'a')).toBe('b1');
  expect(queue.take((caller) => caller !== 'a')).toBeUndefined();
  expect(queue.sizeOf('a')).toBe(2);
  expect(queue.take()).toBe('a1');
});
