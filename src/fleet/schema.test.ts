import { describe, expect, test } from 'vitest';
import { Type } from 'typebox';
import { Fleet } from './fleet.ts';
import { put } from './document.ts';
import { Registry } from './registry.ts';
import { checker, problemsFrom, schemaKind, suggestion } from './schema.ts';
import { setting, SETTING, valueOf } from './setting.ts';

const SCHEMA = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z]+$' }),
    state: Type.Enum(['up', 'down']),
    size: Type.Optional(Type.Integer({ minimum: 1 })),
    parts: Type.Array(Type.Object({ weight: Type.Number() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);
const fine = { name: 'a', state: 'up', parts: [] };

describe('a document against its schema', () => {
  test.each<[string, object, string, string]>([
    ['an unknown field near a known one', { nmae: 'x' }, '/nmae', 'is not a known field (did you mean "name"?)'],
    ['an unknown field near nothing', { colour: 'x' }, '/colour', 'is not a known field'],
    [
      'an unknown field inside a list',
      { parts: [{ weigth: 1, weight: 2 }] },
      '/parts/0/weigth',
      'is not a known field (did you mean "weight"?)',
    ],
    ['a missing field', { name: undefined }, '/name', 'is required'],
    ['a number written as text', { size: '3' }, '/size', 'must be integer'],
    ['a number out of range', { size: 0 }, '/size', 'must be >= 1'],
    ['a word that is none of the allowed ones', { state: 'on' }, '/state', 'must be one of "up", "down"'],
  ])('%s is told by field', (_name, wrong, field, message) => {
    const value = JSON.parse(JSON.stringify({ ...fine, ...wrong })) as unknown;
    expect(checker(SCHEMA)(value)).toContainEqual({ field, message });
  });

  test('a-fine-one-has-no-problem-and-nothing-is-filled-in', () => {
    const value = { ...fine };
    expect(checker(SCHEMA)(value)).toEqual([]);
    expect(value).toEqual({ name: 'a', state: 'up', parts: [] });
  });

  test('a-flood-of-problems-is-cut-to-what-a-person-reads', () => {
    const wrong = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`x${at}`, at]));
    const told = checker(SCHEMA)({ ...fine, ...wrong });
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(10);
  });

  test('errors-in-the-form-of-ajv-are-told-the-same-way', () => {
    const error = { keyword: 'additionalProperties', instancePath: '', params: { additionalProperty: 'stat' } };
    const missing = { keyword: 'required', instancePath: '', params: { missingProperty: 'name' } };
    expect(problemsFrom([error, missing], SCHEMA)).toEqual([
      { field: '/stat', message: 'is not a known field (did you mean "state"?)' },
      { field: '/name', message: 'is required' },
    ]);
  });

  test('a-kind-says-all-its-problems-in-one-line', () => {
    const kind = schemaKind('thing', SCHEMA);
    expect(kind.check(fine)).toBeUndefined();
    expect(kind.check({ ...fine, size: 0, state: 'on' })).toBe(
      '/state: must be one of "up", "down"; /size: must be >= 1',
    );
  });
});

test.each([
  ['memroyMiB', ' (did you mean "memoryMiB"?)'],
  ['VCPUS', ' (did you mean "vcpus"?)'],
  ['banana', ''],
])('%s suggests%s', (word, expected) => {
  expect(suggestion(word, ['vcpus', 'memoryMiB'])).toBe(expected);
});

test('a-setting-has-its-fallback-until-the-journal-says-otherwise', () => {
  const patience = setting('patience', { about: 'How long.', schema: Type.Integer({ minimum: 1 }), fallback: 7 });
  const fleet = new Fleet(new Registry([{ kinds: [SETTING] }]));
  expect(valueOf(fleet, patience)).toBe(7);
  fleet.apply(1, [put(SETTING, patience.name, { value: 9, changedBy: 'ann', changedAtMs: 1 })]);
  expect(valueOf(fleet, patience)).toBe(9);
  expect(patience.problems(0)).toEqual([{ field: '', message: 'must be >= 1' }]);
});
