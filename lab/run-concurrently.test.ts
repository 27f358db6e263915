import { expect, test } from 'vitest';
import { runConcurrently } from './run-concurrently.ts';

test('results-are-in-the-order-of-the-items-and-no-more-run-than-the-limit-allows', async () => {
  let running = 0;
  let most = 0;
  const results = await runConcurrently([5, 4, 3, 2, 1], 2, async (item) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
    running -= 1;
    return item * 10;
  });
  expect(results).toEqual([50, 40, 30, 20, 10]);
  expect(most).toBe(2);
});

test('a-failure-stops-what-has-not-begun-and-waits-for-what-has', async () => {
  const log: string[] = [];
  const work = async (item: string): Promise<void> => {
    log.push(`${item} begins`);
    if (item === 'a') throw new Error('a fails');
    await new Promise((done) => setImmediate(done));
    log.push(`${item} ends`);
  };
  await expect(runConcurrently(['a', 'b', 'c', 'd'], 2, work)).rejects.toThrow('a fails');
  expect(log).toEqual(['a begins', 'b begins', 'b ends']);
});

test('nothing-to-do-is-done', async () => {
  expect(await runConcurrently([], 3, async () => 1)).toEqual([]);
});
