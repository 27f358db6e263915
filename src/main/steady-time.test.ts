import { expect, test } from 'vitest';
import { steadyTime } from './clock.ts';

test('time-goes-on-when-the-wall-clock-is-set-back-and-jumps-with-it-when-it-is-set-forward', () => {
  let [wall, monotonic] = [1_000_000, 50];
  const { nowMs, jumpedMs } = steadyTime(
    () => wall,
    () => monotonic,
  );
  const pass = (ms: number): void => {
    wall += ms;
    monotonic += ms;
  };
  pass(500);
  expect(nowMs()).toBe(1_000_500);
  wall -= 600_000;
  pass(1000);
  expect(nowMs()).toBe(1_001_500);
  expect(jumpedMs()).toBe(0);
  wall += 3_600_000;
  expect(nowMs()).toBe(wall);
  // It had been ten minutes behind.
  expect(jumpedMs()).toBe(3_000_000);
  pass(10);
  expect(nowMs()).toBe(wall);
});
