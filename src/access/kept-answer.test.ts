import { expect, test } from 'vitest';
import { keptUntilHourOf, packAnswer, unpackAnswer, type KeptContent, type KeptParts } from './kept-answer.ts';

const PARTS: KeptParts = {
  of: 'J8y3Zc6Ei8Ck',
  status: 200,
  untilHour: 498_653,
  content: { kind: 'change', at: 0 },
  hasEtag: true,
  secrets: [],
};

const CONTENTS: readonly KeptContent[] = [
  { kind: 'change', at: 12 },
  { kind: 'target', revision: 7 },
  { kind: 'shown', of: 'floating-address', id: 'a b:c/ü', revision: 19 },
  { kind: 'memo', memo: '' },
  { kind: 'memo', memo: ' two  words ' },
  { kind: 'memo', memo: '1,0,0', revision: 21 },
  { kind: 'made', field: 'instances', of: 'instance' },
  { kind: 'body', body: { text: 'with a\nline and  spaces', n: [1] }, isBegun: false },
  { kind: 'body', body: {}, isBegun: true },
  { kind: 'lost' },
];

test.each(CONTENTS.map((content) => [JSON.stringify(content), content] as const))(
  'what-is-packed-is-what-is-unpacked: %s',
  (_, content) => {
    const isDocument = ['change', 'target', 'shown'].includes(content.kind);
    for (const hasEtag of isDocument ? [true, false] : [])
      expect(unpackAnswer(packAnswer({ ...PARTS, content, hasEtag }))).toEqual({ ...PARTS, content, hasEtag });
    const parts = { ...PARTS, content, location: '/api/v1/a b', type: 'text/plain; x=y', secrets: ['a,b', 'c d'] };
    expect(unpackAnswer(packAnswer(parts))).toMatchObject({ ...parts, hasEtag: expect.anything() as boolean });
    expect(unpackAnswer(packAnswer({ ...parts, location: '' }))).toMatchObject({ location: '', content });
    expect(keptUntilHourOf(packAnswer(parts))).toBe(PARTS.untilHour);
  },
);

test('the-usual-one-is-short', () => {
  expect(packAnswer(PARTS)).toBe('J8y3Zc6Ei8Ck 200aorh C0');
});

test('what-is-no-kept-answer-is-not-read-as-one', () => {
  expect(() => unpackAnswer('anything')).toThrow('no kept answer');
});
