import { expect, test } from 'vitest';
import { FollowedClock } from './followed-clock.ts';

const HOUR_MS = 3_600_000;

/** A server whose clock is ahead of the other one by this much, and which was set ahead by that much more since it started. */
function follower(aheadMs: number) {
  const followed = new FollowedClock();
  const at = (timeMs: number, setMs = 0) => ({ nowMs: timeMs + aheadMs + setMs, unsetMs: timeMs + aheadMs });
  return { followed, at };
}

test.each([
  ['ahead', 5 * HOUR_MS],
  ['right', 0],
  ['behind', -5 * HOUR_MS],
])('the-clock-is-%s: known to the time between two reads', (_name, aheadMs) => {
  const { followed, at } = follower(aheadMs);
  followed.noteCaughtUp(at(1000));
  followed.noteCommit(1600);
  expect(followed.aheadMs(at(2000))).toBe(aheadMs - 600);
  expect(followed.aheadMs(at(2000 + HOUR_MS))).toBe(aheadMs - 600);
});

test('a-commit-that-is-read-late-is-no-evidence: it may have been made at any time since the last read', () => {
  const { followed, at } = follower(0);
  followed.noteCaughtUp(at(1000));
  followed.noteCommit(1500);
  expect(followed.aheadMs(at(1000 + HOUR_MS))).toBe(-500);
});

test('of-many-commits-in-one-read-the-first-counts', () => {
  const { followed, at } = follower(HOUR_MS);
  followed.noteCaughtUp(at(0));
  for (const atMs of [100, 60_000, 120_000]) followed.noteCommit(atMs);
  expect(followed.aheadMs(at(200_000))).toBe(HOUR_MS - 100);
});

test('a-clock-that-is-set-ahead-after-the-commit-is-ahead-by-that-as-well', () => {
  const { followed, at } = follower(0);
  followed.noteCaughtUp(at(0));
  followed.noteCommit(0);
  expect(followed.aheadMs(at(10, HOUR_MS))).toBe(HOUR_MS);
});

test('the-newest-decider-counts', () => {
  const { followed, at } = follower(0);
  followed.noteCaughtUp(at(0));
  followed.noteCommit(HOUR_MS);
  followed.noteCaughtUp(at(1000));
  followed.noteCommit(1000);
  expect(followed.aheadMs(at(2000))).toBe(0);
});

test('nothing-was-followed', () => {
  const { followed, at } = follower(0);
  expect(followed.aheadMs(at(0))).toBeUndefined();
  followed.noteCommit(0);
  expect(followed.aheadMs(at(0))).toBeUndefined();
  followed.noteCaughtUp(at(0));
  followed.noteCommit(0);
  followed.clear();
  expect(followed.aheadMs(at(0))).toBeUndefined();
});
