// The list of long test files names files that are there.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { LONG_FILES } from '../../scripts/test/longest-first.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('every-long-test-file-is-there', () => {
  const names = Object.keys(LONG_FILES);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !existsSync(resolve(ROOT, name)))).toEqual([]);
});
