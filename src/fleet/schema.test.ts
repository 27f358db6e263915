import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { compileChecker, schemaKind, suggestion } from './schema.ts';

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
const problems = compileChecker(HOST);

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
    const found = compileChecker(
      Type.Object({
        colour: Type.String({ pattern: '^[a-z]+$', 'x-form': 'a colour in lower case' }),
        code: Type.String({ pattern: '^[0-9]$' }),
      }),
    );
    expect(found({ colour: 'RED', code: 'x' })).toEqual([
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
  ['mem', ' (did you mean "memoryMiB"?)'],
  ['memory', ' (did you mean "memoryMiB"?)'],
  ['colour', ''],
])('suggests for "%s"%s', (word, expected) => {
  expect(suggestion(word, ['name', 'memoryMiB'])).toBe(expected);
});

it.each([
  ['the one that is begun with', 'sca', ['scale-in', 'election'], 'scale-in'],
  ['what the others begin with too', '/api/v1/serv', ['/api/v1/services/:id', '/api/v1/services'], '/api/v1/services'],
  ['none of several', 'scale', ['scale-in', 'scale-out'], undefined],
  ['the closer one, though another is begun with', 'hots', ['hots-and-more', 'host'], 'host'],
])('suggests %s', (_what, word, known, expected) => {
  expect(suggestion(word, known)).toBe(expected === undefined ? '' : ` (did you mean "${expected}"?)`);
});

it.each([
  ['either', { any: 'x' }, '/any: must be an IPv4 or IPv6 address, such as 192.0.2.7 or 2001:db8::7'],
  [
    'either or none',
    { none: '10.0.0.256' },
    '/none: must be an IPv4 or IPv6 address, such as 192.0.2.7 or 2001:db8::7',
  ],
  ['one', { four: '2001:db8::7' }, '/four: must be an IPv4 address, such as 192.0.2.7'],
  ['another form', { when: 'soon' }, '/when: must match format "date"'],
])('says what an address looks like: %s', (_what, doc, problem) => {
  const [four, six] = [Type.String({ format: 'ipv4' }), Type.String({ format: 'ipv6' })];
  const any = Type.Union([four, six]);
  const fields = { any, none: Type.Union([any, Type.Null()]), four, when: Type.String({ format: 'date' }) };
  expect(schemaKind('thing', Type.Partial(Type.Object(fields))).check(doc)).toBe(problem);
});
