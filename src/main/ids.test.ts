import { describe, expect, test } from 'vitest';
import { realIds } from './ids.ts';

describe('ids', () => {
  test('ids-sort-by-time-of-creation, also within a millisecond and when the clock is set back', () => {
    const times = [1000, 1000, 1001, 900, 900, 2 ** 41];
    let at = -1;
    const ids = realIds(() => times[(at += 1)] ?? 0);
    const made = times.map(() => ids.next('op'));
    expect([...made].sort()).toEqual(made);
    expect(new Set(made).size).toBe(times.length);
    expect(made[0]).toMatch(/^op-00000000z8[0-9a-hjkmnp-tv-z]{10}$/);
  });

  test('ids-of-two-servers-differ', () => {
    const [one, other] = [realIds(() => 5), realIds(() => 5)];
    const made = Array.from({ length: 1000 }, () => [one.next('c'), other.next('c')]).flat();
    expect(new Set(made).size).toBe(2000);
  });

  test('secrets-have-256-bits and fit into URLs', () => {
    expect(realIds().secret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});
