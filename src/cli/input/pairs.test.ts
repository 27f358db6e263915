import { describe, expect, test } from 'vitest';
import { namedValues } from './pairs.ts';

describe('options of the form name=value', () => {
  test.each<[string, Record<string, string>]>([
    ['architecture=x86_64', { architecture: 'x86_64' }],
    ['capabilities:boot_mode=s== uefi', { 'capabilities:boot_mode': 's== uefi' }],
    ['trait:GPU=', { 'trait:GPU': '' }],
  ])('%s', (text, values) => expect(namedValues(text)).toEqual(values));

  test('are-gathered', () => expect(namedValues('b=2', { a: '1' })).toEqual({ a: '1', b: '2' }));

  test.each([
    ['novalue', {}, 'is not of the form name=value'],
    ['=x', {}, 'is not of the form name=value'],
    ['a=2', { a: '1' }, '"a" is there twice'],
  ])('%s is refused', (text, before, words) => expect(() => namedValues(text, before)).toThrow(words));
});
