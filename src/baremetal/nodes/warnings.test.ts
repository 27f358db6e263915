import { expect, test } from 'vitest';
import { findWarnings } from './warnings.ts';

const SKIPPED = (item: string): string => `The capability "${item}" is skipped: write it as name:value.`;
const REPEATED = 'A capability is there more than once: the first of its values counts. Leave the others out.';

test.each<[string, string | undefined, string[]]>([
  ['none', undefined, []],
  ['an-empty-text', '', []],
  ['all-in-order', 'boot_mode:uefi,has_gpu:,wwn:50:01:43', []],
  ['without-a-colon', 'has_gpu,cpus:8', [SKIPPED('has_gpu')]],
  ['without-a-name', ':8', [SKIPPED(':8')]],
  ['an-empty-item', 'cpus:8,', [SKIPPED('')]],
  ['the-same-twice', 'cpus:8,cpus:16', [REPEATED]],
  ['both', 'cpus:8,cpus:16,x', [SKIPPED('x'), REPEATED]],
])('what-means-nothing-is-said: %s', (_, capabilities, warnings) => {
  expect(findWarnings(capabilities === undefined ? {} : { capabilities })).toEqual(warnings);
});
