import { assert, integer, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endSentence, shortenText } from './short-text.ts';

describe('a text that is too long', () => {
  test.each([
    ['fits', 'Two of 3 hosts: full.', 21, 'Two of 3 hosts: full.'],
    [
      'is-cut-between-sentences',
      'Two of 3 hosts: full. 1 of 1 hosts: excluded: tried before.',
      40,
      'Two of 3 hosts: full. …',
    ],
    [
      'is-cut-between-words-where-one-sentence-is-most-of-it',
      'A. Two of three hosts are full',
      20,
      'A. Two of three …',
    ],
    ['is-cut-anywhere-where-it-has-no-words', 'abcdefghijklmnop', 10, 'abcdefgh …'],
    ['keeps-no-half-of-a-character', `abcdefg${'😀'.repeat(4)}`, 10, 'abcdefg …'],
  ])('%s', (_name, text, lengthMax, shortened) => {
    expect(shortenText(text, lengthMax)).toBe(shortened);
  });

  test('never: it is longer than allowed, or less than half of it is left', () => {
    assert(
      property(string({ maxLength: 400, unit: 'grapheme' }), integer({ min: 10, max: 200 }), (text, most) => {
        const shortened = shortenText(text, most);
        expect(shortened.length).toBeLessThanOrEqual(most);
        expect(shortened.length).toBeGreaterThanOrEqual(Math.min(text.length, most / 2));
        expect(text.startsWith(shortened.replace(/ …$/, ''))).toBe(true);
      }),
    );
  });
});

test.each([
  ['full', 'full.'],
  ['Full.', 'Full.'],
  ['Full. …', 'Full. …'],
])('%j ends as a sentence does', (text, sentence) => {
  expect(endSentence(text)).toBe(sentence);
});
