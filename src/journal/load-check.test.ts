import { expect, test } from 'vitest';
import { earliestTail, tailStart } from './load-check.ts';

const MIB = 1024 * 1024;
const sizes = (...bytes: readonly number[]) => bytes.map((size, at) => ({ revision: 100 - at, bytes: size }));

test('a-start-looks-at-a-thousand-commits-and-never-below-the-floor', () => {
  expect(earliestTail({ revision: 5000, floorRevision: 0 })).toBe(4000);
  expect(earliestTail({ revision: 5000, floorRevision: 4900 })).toBe(4900);
});

test.each<[string, readonly { revision: number; bytes: number }[], number]>([
  ['all-of-small-commits', sizes(100, 100, 100), 97],
  ['none-after-the-floor', [], 97],
  ['large-ones-as-far-as-they-fit', sizes(MIB, 2 * MIB, 3 * MIB), 98],
  ['the-last-one-however-large', sizes(9 * MIB, 1), 99],
])('%s', (_name, given, start) => {
  expect(tailStart(97, given)).toBe(start);
});
