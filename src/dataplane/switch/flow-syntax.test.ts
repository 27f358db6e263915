import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { portNamesIn } from './flow-syntax.ts';

/** The words for ports, whole and as the end of others, and names. */
const piece = fc.constantFrom('in_port=', 'output:', 'watch_port:', 'x', ',', '"mp1"', '"mp2"', 'no', 'drop');
const PORT = /(?:^|,)(?:in_port=|output:|watch_port:)("[^"]+")/g;

test('names-the-ports-of-a-match-and-of-actions, and-no-other-name', () => {
  expect(portNamesIn('in_port="mp1",dl_src=02:00:00:00:00:01')).toEqual(['"mp1"']);
  expect(portNamesIn('output:"mp1",output:"mp2"')).toEqual(['"mp1"', '"mp2"']);
  expect(portNamesIn('not_in_port="mp1",xoutput:"mp2"')).toEqual([]);
  expect(portNamesIn('')).toEqual([]);
});

test('of-texts-with-whole-names-it-finds-what-the-words-say', () => {
  const texts = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      expect(portNamesIn(text)).toEqual([...text.matchAll(PORT)].map(([, name]) => name));
    }),
    { numRuns: 2000 },
  );
});
