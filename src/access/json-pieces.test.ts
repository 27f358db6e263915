import { expect, test } from 'vitest';
import { jsonPieces, LazyList } from './json-pieces.ts';

const whole = (value: unknown): string => [...jsonPieces(value)].join('');

test.each<[string, unknown]>([
  ['values', { text: 'a "quoted" \u2028 ü', number: 1.5, flag: false, nothing: null, left: undefined }],
  ['empty', { object: {}, list: [] }],
  ['nested', { a: { b: [1, [2, { c: 'd' }]], e: {} } }],
  ['a-list', [1, 'two', { three: 3 }]],
])('the-text-is-that-of-the-whole: %s', (_, value) => {
  expect(whole(value)).toBe(JSON.stringify(value));
});

test('a-lazy-list-is-written-as-a-list, and made an entry at a time', () => {
  const made: number[] = [];
  function* entries(): Generator<object> {
    for (let at = 0; at < 3; at += 1) {
      made.push(at);
      yield { at };
    }
  }
  const pieces = jsonPieces({ before: 1, list: new LazyList(entries()), none: new LazyList([]) });
  let text = '';
  while (!text.endsWith('{"at":0}')) text += pieces.next().value as string;
  expect(made).toEqual([0]);
  for (const piece of pieces) text += piece;
  expect(text).toBe(JSON.stringify({ before: 1, list: [{ at: 0 }, { at: 1 }, { at: 2 }], none: [] }));
});
