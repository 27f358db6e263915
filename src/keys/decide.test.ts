import { expect, test } from 'vitest';
import { compareKeys, continueJournals, type OwnKeys } from './decide.ts';
import { JOURNALS_MAX } from './model.ts';

const first: OwnKeys = { serial: 1, signing: ['sk-1'], authorities: ['ca-1'] };
const rotated: OwnKeys = { serial: 2, signing: ['sk-2', 'sk-1'], authorities: ['ca-2', 'ca-1'] };
const recorded = (own: OwnKeys) => ({ ...own, journals: ['j1'], changedAtMs: 1 });

test.each<[string, OwnKeys | undefined, OwnKeys, string]>([
  ['the-first-server-names-its-keys', undefined, first, 'none-recorded'],
  ['a-copy-is-the-same', first, first, 'same'],
  ['a-rotated-server-is-ahead', first, rotated, 'later'],
  ['a-server-that-was-not-given-the-new-keys-differs', rotated, first, 'different'],
  ['a-server-with-keys-of-its-own-differs', first, { ...first, signing: ['sk-9'] }, 'different'],
  ['so-does-one-with-rotated-keys-of-its-own', first, { ...rotated, signing: ['sk-9', 'sk-8'] }, 'different'],
  [
    'keys-in-place-of-lost-ones-are-later',
    first,
    { ...first, serial: 9, signing: ['sk-9'], replacesLost: true },
    'later',
  ],
  [
    'but-not-than-those-that-replaced-them',
    { ...first, serial: 9 },
    { ...first, serial: 8, replacesLost: true },
    'different',
  ],
])('%s', (_name, before, own, agreement) => {
  expect(compareKeys(before && recorded(before), own)).toBe(agreement);
});

test.each<[string, readonly string[], string, readonly string[]]>([
  ['the-first-journal-continues-none', [], 'j1', ['j1']],
  ['a-journal-stays-the-same', ['j2', 'j1'], 'j2', ['j2', 'j1']],
  ['a-restored-one-continues-that-of-the-backup', ['j2', 'j1'], 'j3', ['j3', 'j2', 'j1']],
])('%s', (_name, journals, journalId, continued) => {
  expect(continueJournals(journals, journalId)).toEqual(continued);
});

test('journals-that-were-continued-are-bounded', () => {
  let journals: readonly string[] = [];
  for (let at = 0; at < 100; at += 1) journals = continueJournals(journals, `j${at}`);
  expect(journals).toHaveLength(JOURNALS_MAX);
  expect(journals[0]).toBe('j99');
});
