import { expect, test } from 'vitest';
import { parseCapabilities } from './capabilities.ts';

test.each<[string, string | undefined, Record<string, string>, number]>([
  ['none', undefined, {}, 0],
  ['blank', '  ', {}, 0],
  ['two', 'boot_mode:uefi,has_gpu:true', { boot_mode: 'uefi', has_gpu: 'true' }, 0],
  ['with-spaces', ' boot_mode : uefi , has_gpu:1', { boot_mode: 'uefi', has_gpu: '1' }, 0],
  ['a-value-with-colons', 'wwn:50:01:43', { wwn: '50:01:43' }, 0],
  ['an-empty-value', 'has_gpu:', { has_gpu: '' }, 0],
  ['without-a-colon', 'has_gpu,cpus:8', { cpus: '8' }, 1],
  ['without-a-name', ':8,cpus:8', { cpus: '8' }, 1],
  ['an-empty-item', 'cpus:8,,', { cpus: '8' }, 2],
  ['the-same-twice', 'cpus:8,cpus:16', { cpus: '8' }, 1],
  ['a-name-that-every-object-has', 'constructor:1,__proto__:2', { constructor: '1', ['__proto__']: '2' }, 0],
])('capabilities-are-read-as-inventories-write-them: %s', (_, text, values, skipped) => {
  const { values: found, warnings } = parseCapabilities(text);
  expect(Object.fromEntries(found)).toEqual(values);
  expect(warnings.length).toBe(skipped);
});

test('a-warning-says-which-item-and-what-to-write', () => {
  expect(parseCapabilities('has_gpu').warnings).toEqual([
    'The capability "has_gpu" has no colon and is skipped. Write name:value.',
  ]);
});
