// Duplicate keys are found at any depth and in any spelling, without false positives.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findDuplicateField } from './duplicate-keys.ts';
import { parseJson } from './json-body.ts';

const refusalOf = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    return { message: (error as Error).message, field: (error as { field?: string }).field };
  }
};

describe('a field that is there twice', () => {
  test.each([
    ['at the top', '{"a":1,"a":1}', '/a'],
    ['with other values', '{"a":1,"b":2,"a":{"c":3}}', '/a'],
    ['inside an object', '{"a":{"b":1,"c":2,"b":3}}', '/a/b'],
    ['inside a list', '{"hosts":[{"name":"x"},{"name":"y","name":"z"}]}', '/hosts/1/name'],
    ['written otherwise', String.raw`{"name":1,"n\u0061me":2}`, '/name'],
    ['with spaces', '{ "a" : 1 ,\n "a" : 2 }', '/a'],
    ['with a slash in it', '{"a/b":1,"a/b":2}', '/a~1b'],
    ['empty', '{"":1,"":2}', '/'],
  ])('is-refused %s', (_, text, field) => {
    expect(refusalOf(text)).toMatchObject({ field });
    expect(findDuplicateField(text)).toBe(field);
  });

  test.each([
    ['the same field of two objects', '[{"a":1},{"a":1}]'],
    ['a value that reads like a field', String.raw`{"a":"\"a\":1","b":"x:y:z"}`],
    ['an object in an object', '{"a":{"a":{"a":1}}}'],
    ['what every object inherits', '{"toString":1,"constructor":2,"hasOwnProperty":3}'],
    ['digits as names', '{"2":1,"1":2,"10":3}'],
  ])('is-not-what %s is', (_, text) => {
    expect(refusalOf(text)).toEqual(JSON.parse(text));
  });

  test('is-found-in-whatever-is-written', () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, fc.string(), (one, name) => {
        const once = JSON.stringify({ x: one, y: [{ z: one }] });
        expect(findDuplicateField(once)).toBeUndefined();
        const key = JSON.stringify(name);
        const twice = `{"o":[${JSON.stringify(one)},{${key}:1,"between":${JSON.stringify(one)},${key}:2}]}`;
        expect(findDuplicateField(twice)).toMatch(/^\/o\/1\//);
      }),
    );
  });
});
