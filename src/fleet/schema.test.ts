import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { checker, schemaKind, suggestion } from './schema.ts';

const CLOSED = { additionalProperties: false };
const HOST = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    state: Type.Union([Type.Literal('active'), Type.Literal('drained')]),
    capacity: Type.Optional(Type.Object({ memoryMiB: Type.Integer({ minimum: 0 }) }, CLOSED)),
    tags: Type.Optional(Type.Array(Type.Object({ key: Type.String() }, CLOSED))),
  },
  CLOSED,
);
const problems = checker(HOST);

describe('checker', () => {
  it('finds nothing wrong with a good document', () => {
    expect(problems({ name: 'c1', state: 'active', capacity: { memoryMiB: 1 }, tags: [{ key: 'a' }] })).toEqual([]);
  });

  it('names an unknown field, with the one that was probably meant', () => {
    expect(problems({ name: 'c1', state: 'active', capacity: { memoryMib: 1, memoryMiB: 1 } })).toEqual([
      { field: '/capacity/memoryMib', message: 'is not a known field (did you mean "memoryMiB"?)' },
    ]);
    expect(problems({ name: 'c1', state: 'active', tags: [{ key: 'a', kee: 'b' }] })).toEqual([
      { field: '/tags/0/kee', message: 'is not a known field (did you mean "key"?)' },
    ]);
  });

  it('says in words which form is wanted, where the schema has them', () => {
    const told = checker(
      Type.Object({
        colour: Type.String({ pattern: '^[a-z]+$', 'x-form': 'a colour in lower case' }),
        code: Type.String({ pattern: '^[0-9]$' }),
      }),
    );
    expect(told({ colour: 'RED', code: 'x' })).toEqual([
      { field: '/colour', message: 'must be a colour in lower case' },
      { field: '/code', message: 'must match pattern "^[0-9]$"' },
    ]);
  });

  it('never: takes a document for fine because the report of what is wrong was cut short', () => {
    const flood = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`x${at}`, at]));
    expect(problems({ name: 'c1', state: 'active', ...flood }).length).toBeGreaterThan(0);
  });

  it('names a missing field', () => {
    expect(problems({ state: 'active' })).toEqual([{ field: '/name', message: 'is required' }]);
  });

  it('says which values are allowed', () => {
    expect(problems({ name: 'c1', state: 'gone' })).toEqual([
      { field: '/state', message: 'must be one of "active", "drained"' },
    ]);
  });

  it.each([
    ['text for a number', { memoryMiB: '1' }],
    ['a fraction for a whole number', { memoryMiB: 1.5 }],
    ['less than the minimum', { memoryMiB: -1 }],
    ['null', { memoryMiB: null }],
  ])('never coerces: %s is refused', (_name, capacity) => {
    const [problem] = problems({ name: 'c1', state: 'active', capacity });
    expect(problem?.field).toBe('/capacity/memoryMiB');
  });

  it.each([null, undefined, 7, 'text', []])('refuses %s for a document', (value) => {
    expect(problems(value)).not.toEqual([]);
  });

  it('changes nothing in what it checks', () => {
    const document = Object.freeze({ name: '', state: 'gone', extra: Object.freeze({ a: 1 }) });
    expect(problems(document).length).toBeGreaterThan(1);
    expect(document).toEqual({ name: '', state: 'gone', extra: { a: 1 } });
  });
});

it('a kind with a schema says all that is wrong in one sentence', () => {
  const kind = schemaKind('host', HOST);
  expect(kind.check({ name: 'c1', state: 'active' })).toBeUndefined();
  expect(kind.check({ state: 'active', nmae: 'c1' })).toContain('/name: is required');
  expect(kind.check({ state: 'active', nmae: 'c1' })).toContain('did you mean "name"?');
});

it.each([
  ['memorymib', ' (did you mean "memoryMiB"?)'],
  ['nam', ' (did you mean "name"?)'],
  ['colour', ''],
])('suggests for "%s"%s', (word, expected) => {
  expect(suggestion(word, ['name', 'memoryMiB'])).toBe(expected);
});
