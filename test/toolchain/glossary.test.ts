// The glossary says where each term lives, and is right about it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MODULE_ORDER } from '../../scripts/lint/module-order.ts';
import { missingPaths, namedPaths } from './named-paths.ts';
import { ROOT } from './scratch.ts';

const GLOSSARY = 'docs/glossary.md';

test('every-path-in-the-glossary-exists', () => {
  expect(namedPaths(GLOSSARY).length).toBeGreaterThan(90);
  expect(missingPaths(GLOSSARY)).toEqual([]);
});

test('every-term-has-a-path-and-is-there-once', () => {
  const text = readFileSync(join(ROOT, GLOSSARY), 'utf8');
  const kept = text.slice(text.indexOf('## Program'), text.indexOf('## Words that went away'));
  const rows = kept.split('\n').filter((line) => /^\| (?!-|term |name )/.test(line));
  expect(rows.filter((row) => !/`[a-z]+\/[^`]*` *(and its like *)?\|$/.test(row))).toEqual([]);
  const terms = rows.map((row) => row.split('|')[1]?.trim());
  expect(terms.filter((term, nth) => terms.indexOf(term) !== nth)).toEqual([]);
});

test('every-module-has-a-term: add it to docs/glossary.md', () => {
  const paths = namedPaths(GLOSSARY);
  expect(MODULE_ORDER.filter((module) => !paths.some((path) => path.startsWith(`src/${module}/`)))).toEqual([]);
});
