// What every refusal must be, whatever its case: it says what to do, in the words of docs/glossary.md, its code is in docs/api.md and in a
// test. That a sentence is true in its case is for the tests of its module; sentences are read from the source here (docs/adr/0062).
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { RETIRED_PROSE } from './retired-prose.ts';
import { constantsIn, productSources, refusalsIn } from './refusals-in-source.ts';

const SOURCES = productSources();
const CONSTANTS = constantsIn(SOURCES.map(({ text }) => text));
const REFUSALS = SOURCES.flatMap(({ path, text }) => refusalsIn(path, text, CONSTANTS));

/** At the beginning of a sentence or of a part of it, so that a noun is not taken for a verb. */
const ADVICE =
  /(?:^|[.;:,] |\bor |\band |\bfirst |\bthen )(?:ask|associate|build|change|check|choose|clear|close|compare|copy|create|delete|disassociate|end|free|get|give|have|join|leave|list|look|make|move|name|put|raise|read|remove|repeat|request|run|say|see|send|set|share|slow|start|stop|try|use|wait|write)\b/i;
/** A command that does it, or shows what is in the way. */
const COMMAND = /(?:"|: )muster [a-z]/;

/** Without advice in the literal, and why. */
const ADVISED_OTHERWISE: Readonly<Record<string, string>> = {
  // The sentence is elsewhere in the same file: in a table or a function.
  blocked: 'refuseVerb(): one sentence for all three',
  'cidr-invalid': 'cidrProblem(): the hint',
  'holder-unreachable': 'detailOf()',
  'join-token-invalid': 'makeJoinToken()',
  'join-token-used': 'makeJoinToken()',
  'join-token-expired': 'makeJoinToken()',
  'join-token-early': 'makeJoinToken()',
  'malformed-header': 'badHeader(): the sentences of its callers',
  'port-used': 'portUserProblem(): by what uses it',
  'not-rebuildable': 'notRebuildableNow()',
  'not-supported': 'operation kinds say why not, and what to do instead',
  'tunnel-address-taken': 'advice()',
  'unknown-host': 'refuseVerb()',
  'verb-unsupported': 'builders say why not, and what to do instead',
  'wrong-state': 'refuseVerb() and WRONG_STATE_ADVICE',
  // There is nothing else to say.
  'method-not-allowed': 'the methods that there are',
  'not-copied-now': 'an agent gets it, which goes on by itself',
  'not-prepared': 'never sent: between a decision and its preparation',
};

const key = ({ path, code }: { readonly path: string; readonly code: string }): string => `${code} (${path})`;

test('the-source-has-refusals, and-their-sentences-are-found', () => {
  expect(REFUSALS.length).toBeGreaterThan(180);
  const silent = REFUSALS.filter(({ sentence, code }) => sentence === '' && !Object.hasOwn(ADVISED_OTHERWISE, code));
  expect(silent.map(key)).toEqual([]);
});

test('every-refusal-says-what-to-do', () => {
  const without = REFUSALS.filter(({ sentence }) => !ADVICE.test(sentence) && !COMMAND.test(sentence));
  expect(without.filter(({ code }) => !Object.hasOwn(ADVISED_OTHERWISE, code)).map(key)).toEqual([]);
  const codes = without.map(({ code }) => code);
  expect(Object.keys(ADVISED_OTHERWISE).filter((code) => !codes.includes(code))).toEqual([]);
});

/** Phrases that say nothing to a caller. */
const VAGUE =
  /\bbad request\b|\binvalid (?:value|request|input)\b|\bnot allowed\.|\bis not possible\.|\bcannot be understood\b/i;

test.each(REFUSALS.map((refusal) => [key(refusal), refusal.sentence]))('in-plain-words: %s', (_, sentence) => {
  expect(sentence).not.toMatch(VAGUE);
  expect(sentence).not.toMatch(RETIRED_PROSE);
});

test('every-code-is-in-docs/api.md', () => {
  const documented = new Set(readFileSync('docs/api.md', 'utf8').match(/(?<=`)[a-z]+(?:-[a-z0-9]+)*(?=`)/g));
  const missing = REFUSALS.filter(({ code }) => !documented.has(code) && !/^unknown-|-not-found$/.test(code));
  expect([...new Set(missing.map(({ code }) => code))].filter((code) => code !== 'not-prepared')).toEqual([]);
});

const TESTS = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'])
  .filter((path) => !path.startsWith('test/toolchain/'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

test('every-code-is-in-a-test', () => {
  const codes = [...new Set(REFUSALS.map(({ code }) => code))];
  expect(codes.filter((code) => !new RegExp(String.raw`\b${code}\b(?!-)`).test(TESTS))).toEqual([]);
});

test.each<[string, string, string]>([
  ['in-the-object', "return { kind: 'conflict', code: 'late', message: 'Too late. Wait.', field };", 'Too late. Wait.'],
  [
    'before-it',
    "const message = `Host ${id} is late.`;\nreturn { kind: 'conflict', code: 'late', message };",
    'Host ${id} is late.',
  ],
  ['in-a-call', "return invalid('late', 'Too late.', { field });", 'Too late.'],
  [
    'before-a-call',
    "const message =\n 'Too ' +\n 'late.';\nreturn conflict('late', message, { field });",
    'Too  late.',
  ],
  [
    'a-problem',
    "const detail = 'Too late.';\nthrow new HttpProblem({ status: 400, code: 'late', detail });",
    'Too late.',
  ],
  ['elsewhere', "return { kind: 'conflict', code: 'late', ...said };", ''],
])('a-refusal-is-found: %s', (_, source, sentence) => {
  expect(refusalsIn('x.ts', source, new Map())).toEqual([{ path: 'x.ts', code: 'late', sentence }]);
});

test.each(['Name it.', 'It is late; wait.', 'Use another, or ask an administrator.', 'See "muster hosts list".'])(
  'advice: %s',
  (sentence) => {
    expect(ADVICE.test(sentence) || COMMAND.test(sentence)).toBe(true);
  },
);

test.each([
  'This join token is for another host.',
  'The name of this host is in use.',
  'Operation op-1 cannot be cancelled: it is done.',
])('no-advice: %s', (sentence) => {
  expect(ADVICE.test(sentence) || COMMAND.test(sentence)).toBe(false);
});
