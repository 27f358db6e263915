// Every reason that the source can give has a sentence. Codes are literals in decisions, so no list of them is there when a program starts
// (docs/adr/0062): they are read from the source here. What else has a code is a refusal, a problem, a failure or a fault, and brings its text.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROGRAM } from '../../src/main/modules.ts';
import { RETIRED_PROSE } from './retired-prose.ts';

const NO_PRODUCT = /(?:test|fixture|torture|contract)|^src\/cli\//;
/** Fields of objects with a code that are no reasons. */
const OTHER_FIELDS = /\b(?:kind|message|status|detail|retryable)\b/;

function reasonCodesIn(source: string): string[] {
  return [...source.matchAll(/\bcode: '([a-z0-9-]+)'/g)].flatMap(({ 1: code = '', index }) =>
    OTHER_FIELDS.test(objectAround(source, index)) ? [] : [code],
  );
}

/** The text of the innermost object literal around this place, without the objects within it. */
function objectAround(source: string, index: number): string {
  const head = textUpTo(source.slice(0, index).split('').reverse(), '}', '{').reverse();
  let text = [...head, ...textUpTo(source.slice(index).split(''), '{', '}')].join('');
  for (let before = ''; before !== text;) [before, text] = [text, text.replaceAll(/\{[^{}]*\}/g, '')];
  return text;
}

/** Up to the brace that closes what was open at the start. */
function textUpTo(text: string[], opens: string, closes: string): string[] {
  let depth = 0;
  const end = text.findIndex((character) => {
    if (character === opens) depth += 1;
    if (character === closes) depth -= 1;
    return depth < 0;
  });
  return end === -1 ? text : text.slice(0, end);
}

test('every-reason-code-in-the-source-has-a-sentence', () => {
  const sentences = new Set(PROGRAM.sentences.flatMap((table) => Object.keys(table)));
  const files = globSync('src/**/*.ts').filter((path) => !NO_PRODUCT.test(path));
  const codes = files.flatMap((path) => reasonCodesIn(readFileSync(path, 'utf8')).map((code) => ({ path, code })));
  expect(codes.length).toBeGreaterThan(100);
  expect(codes.filter(({ code }) => !sentences.has(code))).toEqual([]);
});

test.each<[string, string, string[]]>([
  ['a-reason', "wait(item, { code: 'late', host: { id: 'c1' } })", ['late']],
  ['a-reason-inside-a-refusal', "{ kind: 'x', reason: { code: 'late' } }", ['late']],
  ['a-refusal-with-facts', "{ kind: 'conflict', code: 'late', facts: { a: 1 } }", []],
  ['a-problem', "{ code: 'late', detail }", []],
])('%s', (_, source, codes) => {
  expect(reasonCodesIn(source)).toEqual(codes);
});

test.each(PROGRAM.sentences.flatMap((table) => Object.entries(table)))(
  'in-words-of-the-glossary: %s',
  (_, sentence) => {
    expect(String(sentence)).not.toMatch(RETIRED_PROSE);
  },
);
