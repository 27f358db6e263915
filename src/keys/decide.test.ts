import { expect, test } from 'vitest';
import { compareKeys, type OwnKeys } from './decide.ts';

const first: OwnKeys = { serial: 1, signing: ['sk-1'], authorities: ['ca-1'] };
const rotated: OwnKeys = { serial: 2, signing: ['sk-2', 'sk-1'], authorities: ['ca-2', 'ca-1'] };
const recorded = (own: OwnKeys) => ({ ...own, changedAtMs: 1 });

test.each<[string, OwnKeys | undefined, OwnKeys, string]>([
  ['the-first-server-names-its-keys', undefined, first, 'none-recorded'],
  ['a-copy-is-the-same', first, first, 'same'],
  ['a-rotated-server-is-ahead', first, rotated, 'later'],
  ['a-server-that-was-not-given-the-new-keys-differs', rotated, first, 'different'],
  ['a-server-with-keys-of-its-own-differs', first, { ...first, signing: ['sk-9'] }, 'different'],
  ['so-does-one-with-rotated-keys-of-its-own', first, { ...rotated, signing: ['sk-9', 'sk-8'] }, 'different'],
])('%s', (_name, before, own, agreement) => {
  expect(compareKeys(before && recorded(before), own)).toBe(agreement);
});
