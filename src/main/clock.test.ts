import { describe, expect, test } from 'vitest';
import { realClock } from './clock.ts';

describe('the real clock', () => {
  test('a-sleep-ends-when-its-signal-is-aborted', async () => {
    const over = new AbortController();
    const slept = realClock.sleep(60_000, over.signal);
    over.abort();
    await slept;
    await realClock.sleep(60_000, over.signal);
    expect(over.signal.aborted).toBe(true);
  });

  test('a-sleep-longer-than-a-timer-can-be is not over at once', async () => {
    const over = new AbortController();
    const slept = realClock.sleep(2 ** 40, over.signal).then(() => 'over');
    expect(await Promise.race([slept, realClock.sleep(20)])).toBeUndefined();
    over.abort();
    expect(await slept).toBe('over');
  });
});
