// A secret prints as nothing, and the form of a sealed one.
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { compileChecker } from '../fleet/index.ts';
import { SEALED, sealingKeyOf, Secret } from './secret.ts';

test('a-secret-prints-as-nothing-however-it-is-printed', () => {
  const secret = new Secret('hunter2-hunter2');
  for (const text of [String(secret), JSON.stringify({ secret }), inspect(secret, { depth: 9, showHidden: true })])
    expect(text).not.toContain('hunter2');
  expect(secret.reveal()).toBe('hunter2-hunter2');
});

test('a-sealed-secret-names-its-key, and a field for one takes nothing else', () => {
  const sealed = `sealed.0123456789abcdef.${'A'.repeat(40)}`;
  expect(sealingKeyOf(sealed)).toBe('0123456789abcdef');
  const problems = compileChecker(SEALED);
  expect(problems(sealed)).toEqual([]);
  for (const text of ['hunter2', 'sealed.', `sealed.0123.${'A'.repeat(40)}`, `${sealed} `]) {
    expect(sealingKeyOf(text)).toBeUndefined();
    expect(problems(text)).toEqual([{ field: '', message: 'must be a sealed secret' }]);
  }
});
