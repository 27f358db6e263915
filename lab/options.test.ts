import { expect, test } from 'vitest';
import { readOptions } from './options.ts';

test.each([
  ['nothing-said', [], { kind: 'up', hosts: 3, muster: true, output: 'table' }],
  [
    'all-said',
    ['--hosts', '50', '--no-muster', '-o', 'json'],
    { kind: 'up', hosts: 50, muster: false, output: 'json' },
  ],
  ['clean', ['--clean'], { kind: 'clean' }],
  ['help-first', ['--help', '--clean'], { kind: 'help' }],
  ['no-hosts', ['--hosts', '0'], { kind: 'refused', why: '--hosts 0: say a number from 1 to 62500' }],
  ['no-number', ['--hosts', 'many'], { kind: 'refused', why: '--hosts many: say a number from 1 to 62500' }],
  ['no-form', ['--output', 'xml'], { kind: 'refused', why: '--output xml: table or json' }],
])('%s', (_name, args, options) => {
  expect(readOptions(args)).toEqual(options);
});

test('an-option-that-is-none-is-refused-by-name', () => {
  expect(readOptions(['--hots', '3'])).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('--hots') as string,
  });
});
