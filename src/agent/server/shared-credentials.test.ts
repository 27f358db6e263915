import { expect, test } from 'vitest';
import { SharedCredentials } from './shared-credentials.ts';

/** The processes whose heartbeats come in for `c1`, one after the other, a second apart; answers when it was last certain that there are two. */
function sharedAfter(heartbeats: string, token: (nth: number) => string = () => 'tok'): readonly number[] {
  const credentials = new SharedCredentials();
  heartbeats
    .split('')
    .forEach((process, nth) => credentials.note({ host: 'c1', token: token(nth) }, process, nth * 1000));
  return [...credentials.hosts()].map(([host, sharedMs]) => (host === 'c1' ? sharedMs : NaN));
}

test.each<readonly [string, string, readonly number[]]>([
  ['one-agent', 'aaaaaa', []],
  ['one-that-is-started-anew-again-and-again', 'aabbccddeeff', []],
  ['one-late-heartbeat-is-not-enough', 'aaba', []],
  ['two-in-turn', 'abababab', [7000]],
  ['two-and-one-of-them-started-anew', 'abacaca', [6000]],
  ['three', 'abcabc', [5000]],
  ['two-until-one-stopped', 'ababbbbbb', [3000]],
])('%s', (_name, heartbeats, expected) => {
  expect(sharedAfter(heartbeats)).toEqual(expected);
});

test('a-new-credential-begins-anew', () => {
  expect(sharedAfter('ababab', (nth) => (nth < 5 ? 'old' : 'new'))).toEqual([]);
});
