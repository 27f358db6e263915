// Every reason code that the source gives is declared by its module, and none that it does not give: a program starts only when all declared ones
// have a sentence (docs/adr/0062). What else has a code is a refusal, a problem, a failure or a fault, and brings its text.
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

/** A code that is made at run time or has a fallback can be one that nothing declares: a table of codes is typed over its keys instead. */
function fallbackCodesIn(source: string): string[] {
  return [...source.matchAll(/\bcode: (?:[^,'`\n{}]*\?\?|`)[^,\n]*/g)].flatMap(({ 0: text, index }) =>
    OTHER_FIELDS.test(objectAround(source, index)) ? [] : [text],
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

const SOURCES = globSync('src/**/*.ts')
  .filter((path) => !NO_PRODUCT.test(path))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const DECLARED = PROGRAM.modules.map(({ name, reasonCodes = [] }) => ({ name, codes: new Set(reasonCodes) }));

/** What is composed in `main/` is of no module: its codes are those of the module whose alarms it raises. */
function isDeclared(path: string, code: string): boolean {
  const module = DECLARED.find(({ name }) => path.startsWith(`src/${name}/`));
  return module === undefined ? DECLARED.some(({ codes }) => codes.has(code)) : module.codes.has(code);
}

test('every-reason-code-in-the-source-is-declared-by-its-module', () => {
  const codes = SOURCES.flatMap(({ path, text }) => reasonCodesIn(text).map((code) => ({ path, code })));
  expect(codes.length).toBeGreaterThan(90);
  expect(codes.filter(({ path, code }) => !isDeclared(path, code))).toEqual([]);
});

test('no-reason-code-has-a-fallback-or-is-composed', () => {
  const found = SOURCES.flatMap(({ path, text }) => fallbackCodesIn(text).map((code) => `${path}: ${code}`));
  expect(found).toEqual([]);
});

test.each<[string, string, string[]]>([
  ['a-table-with-a-fallback', "wait(item, { code: WAITS[step] ?? 'late', host })", ["code: WAITS[step] ?? 'late'"]],
  ['a-template', 'wait(item, { code: `late-${step}`, host })', ['code: `late-${step}`']],
  ['a-typed-table', 'wait(item, { code: WAITS[step], host })', []],
  ['a-fault-with-its-own-text', '{ code: here?.fault ?? why.code, message }', []],
])('a-reason-code-without-a-declaration-is-found: %s', (_, source, codes) => {
  expect(fallbackCodesIn(source)).toEqual(codes);
});

test('every-declared-reason-code-is-given-by-its-module', () => {
  const stale = DECLARED.flatMap(({ name, codes }) => {
    const texts = SOURCES.filter(({ path }) => path.startsWith(`src/${name}/`) && !isDeclaration(path));
    return [...codes].filter((code) => !texts.some(({ text }) => gives(text, code))).map((code) => `${name}: ${code}`);
  });
  expect(stale).toEqual([]);
});

/** As a value and not as the key of its sentence; a fault is a key of its table. */
function gives(text: string, code: string): boolean {
  return new RegExp(`'${code}'(?!:)|^  '?${code}'?: (?:retry|abort)\\(`, 'm').test(text);
}

function isDeclaration(path: string): boolean {
  return /(?:reason-codes|module)\.ts$/.test(path);
}

test('every-sentence-is-of-a-declared-reason-code', () => {
  const declared = new Set(DECLARED.flatMap(({ codes }) => [...codes]));
  const codes = PROGRAM.sentences.flatMap((table) => Object.keys(table));
  expect(codes.filter((code) => !declared.has(code))).toEqual([]);
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
