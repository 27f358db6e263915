// Which fields hold sealed secrets, wherever they are in a document.
import { expect, test } from 'vitest';
import { Type } from 'typebox';
import { mapSealed, SEALED_MARK, sealedFieldsOf } from './sealed-fields.ts';

const SEALED = Type.String({ [SEALED_MARK]: true });

const SCHEMA = Type.Object({
  name: Type.String(),
  token: Type.Optional(SEALED),
  list: Type.Array(Type.Object({ key: SEALED, note: Type.String() })),
  byName: Type.Record(Type.String(), SEALED),
  reach: Type.Union([
    Type.Object({ kind: Type.Literal('key'), key: SEALED }),
    Type.Object({ kind: Type.Literal('password'), user: Type.String(), key: SEALED }),
    Type.Null(),
  ]),
});

test('they-are-found-in-optional-fields-lists-records-and-unions', () => {
  expect(sealedFieldsOf(SCHEMA)).toEqual([['token'], ['list', '*', 'key'], ['byName', '*'], ['reach', 'key']]);
  expect(sealedFieldsOf(Type.Object({ name: Type.String() }))).toEqual([]);
});

test('they-and-nothing-else-are-replaced', () => {
  const doc = {
    name: 's',
    list: [
      { key: 's', note: 's' },
      { key: 's', note: 's' },
    ],
    byName: { one: 's' },
    reach: { kind: 'password', user: 's', key: 's' },
  };
  const before = structuredClone(doc);
  expect(mapSealed(doc, sealedFieldsOf(SCHEMA), (text) => `${text}!`)).toEqual({
    name: 's',
    list: [
      { key: 's!', note: 's' },
      { key: 's!', note: 's' },
    ],
    byName: { one: 's!' },
    reach: { kind: 'password', user: 's', key: 's!' },
  });
  expect(doc).toEqual(before);
  expect(mapSealed({ reach: null }, sealedFieldsOf(SCHEMA), () => 'x')).toEqual({ reach: null });
});
