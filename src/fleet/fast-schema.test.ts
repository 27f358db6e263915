import * as fc from 'fast-check';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { optimizeSchema } from './fast-schema.ts';

const CLOSED = { additionalProperties: false };

const SCHEMA = Type.Object(
  {
    name: Type.String({ pattern: '^[a-c]+$' }),
    tags: Type.Array(Type.String({ maxLength: 3 }), { uniqueItems: true, maxItems: 3 }),
    words: Type.Optional(Type.Array(Type.String(), { uniqueItems: true })),
    pairs: Type.Optional(Type.Array(Type.Object({ a: Type.Integer() }, CLOSED), { uniqueItems: true })),
    place: Type.Optional(Type.Object({ x: Type.Integer(), y: Type.Optional(Type.Integer()) }, CLOSED)),
    either: Type.Optional(Type.Union([Type.Null(), Type.Object({ kind: Type.Enum(['one', 'two']) }, CLOSED)])),
    /** A field may be called like a keyword. */
    enum: Type.Optional(Type.Object({ items: Type.Boolean() }, CLOSED)),
  },
  CLOSED,
);

const MANY = Array.from({ length: 40 }, (_, nth) => `word-${nth}`);

const FINE = {
  name: 'abc',
  tags: ['a', 'b'],
  pairs: [{ a: 1 }, { a: 2 }],
  place: { x: 1, y: 2 },
  either: { kind: 'one' },
  enum: { items: true },
};

const quick = Compile(optimizeSchema(SCHEMA));
const full = Compile(SCHEMA);

describe('the quick form of a schema', () => {
  test.each([
    ['all-fields', FINE, true],
    ['a-list-that-repeats-itself', { ...FINE, tags: ['a', 'a'] }, false],
    ['a-long-list', { ...FINE, words: MANY }, true],
    ['a-long-list-that-repeats-itself', { ...FINE, words: [...MANY, 'word-3'] }, false],
    ['an-object-list-that-repeats-itself', { ...FINE, pairs: [{ a: 1 }, { a: 1 }] }, false],
    ['an-unknown-field', { ...FINE, colour: 'red' }, false],
    ['an-unknown-field-further-down', { ...FINE, place: { x: 1, z: 2 } }, false],
    ['an-unknown-field-in-one-of-several', { ...FINE, either: { kind: 'one', more: 1 } }, false],
    ['an-unknown-field-below-a-keyword', { ...FINE, enum: { items: true, more: 1 } }, false],
    ['a-field-that-every-object-has', { ...FINE, toString: 1 }, false],
  ])('%s', (_name, value, fine) => {
    expect(quick.Check(value)).toBe(fine);
  });

  test('it passes exactly what the schema passes', () => {
    const word = fc.constantFrom('a', 'b', 'abc', 'abcd', '', 1, null);
    const any = fc.oneof(word, fc.array(word, { maxLength: 4 }), fc.dictionary(fc.constantFrom('x', 'y', 'a'), word));
    const fields = fc.record(
      Object.fromEntries(Object.entries(FINE).map(([name, value]) => [name, fc.oneof(fc.constant(value), any)])),
      { requiredKeys: [] },
    );
    const document = fc.oneof(
      fields,
      any,
      fc.tuple(fields, any).map(([one, more]) => ({ ...one, more })),
    );
    fc.assert(fc.property(document, (value) => quick.Check(value) === full.Check(value)));
  });
});
