import { expect, test } from 'vitest';
import { composeEntityTag, parseEntityTag, shortenJournalId } from './entity-tag.ts';
import { dropJournalOfIfMatch, ifMatchIn } from './write-headers.ts';

const OWN = shortenJournalId('journal-1');

test.each([
  ['"42"', { revision: 42 }],
  ['"42-0123abcd"', { revision: 42, journal: '0123abcd' }],
  ['42', undefined],
  ['W/"42"', undefined],
  ['"42-"', undefined],
  ['"42-0123ABCD"', undefined],
  ['"x"', undefined],
])('%s is read as it was composed', (text, tag) => {
  expect(parseEntityTag(text)).toEqual(tag);
  if (tag !== undefined) expect(composeEntityTag(tag)).toBe(text);
});

test('a holder of the version before gets the revision alone, once the journal was checked', () => {
  const headers = { 'if-match': `"42-${OWN}"`, accept: '*/*' };
  expect(dropJournalOfIfMatch(headers, 'journal-1')).toEqual({ 'if-match': '"42"', accept: '*/*' });
  expect(() => dropJournalOfIfMatch(headers, 'journal-2')).toThrow('another journal');
  expect(dropJournalOfIfMatch({ 'if-match': '*' }, 'journal-1')).toEqual({ 'if-match': '*' });
  expect(dropJournalOfIfMatch({}, 'journal-1')).toEqual({});
});

test('never: a tag of another journal counts as this one', () => {
  expect(ifMatchIn({ 'if-match': `"42-${OWN}"` }, 'journal-1')).toBe(42);
  expect(() => ifMatchIn({ 'if-match': `"42-${OWN}"` }, 'journal-2')).toThrow('another journal');
});
