// How far a check, a backup or a restore of a large store is: said beside the result, and only of what takes long.
import { expect, test } from 'vitest';
import { TestSession } from './output/session-fixture.ts';
import { progressOf } from './store-commands.ts';

function progressAfter(...passedMs: readonly number[]): string {
  const session = new TestSession({ output: 'json' });
  const progress = progressOf(session, 'checked');
  for (const [nth, ms] of passedMs.entries()) {
    session.clockMs += ms;
    progress(1000 * (nth + 1), 5000);
  }
  expect(session.written.out).toBe('');
  return session.written.err;
}

test('what-takes-long-says-once-a-second-how-far-it-is', () => {
  expect(progressAfter(3500, 100, 900, 100, 1000)).toBe(
    '1000 of about 5000 documents and commits checked\n3000 of about 5000 documents and commits checked\n5000 of about 5000 documents and commits checked\n',
  );
});

test('what-is-soon-done-says-nothing', () => {
  expect(progressAfter(100, 100, 100)).toBe('');
});
