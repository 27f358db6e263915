import { expect, test } from 'vitest';
import { partsToWire, readViewWords, viewMediaType } from './view-words.ts';

test('what-an-agent-says-that-it-knows-is-what-the-server-reads', () => {
  for (const words of ['glossary', 'former'] as const) expect(readViewWords(viewMediaType(words))).toBe(words);
});

test.each([
  [undefined, 'former'],
  ['*/*', 'former'],
  ['application/json', 'former'],
  ['application/json;words=other', 'former'],
  ['application/json; words="glossary"', 'glossary'],
  ['text/plain, application/json;q=0.9;words=glossary', 'glossary'],
])('an-agent-that-accepts-%s-knows-the-words-%s', (accept, words) => {
  expect(readViewWords(accept)).toBe(words);
});

test('a-view-is-translated-only-for-those-who-do-not-know-the-words', () => {
  const parts = { bfd: { intervalMs: 100, peers: [] } };
  expect(partsToWire(parts, 'glossary')).toBe(parts);
  expect(partsToWire(parts, 'former')).toEqual({ heartbeats: { everyMs: 100, peers: [] } });
});
