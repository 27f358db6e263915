// Every command line that a sentence of the program names is one that the command line takes: its words, and its options.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { noSuch } from '../../src/access/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { problemOf } from './command-line.ts';
import { productSources } from './refusals-in-source.ts';

/** In a string or a template: up to what ends the command line there. */
const NAMED = /\bmuster ((?:[a-z][a-z-]*)(?:[^"`'\n\\;]|'')*)/g;

/** What begins so is a name inside the program: of a lock, a schema, a statement. */
const INTERNAL = /^(?:lease|schema|statement|secret) /;

const COMMENT = /^\s*(?:\/\/|\*|\/\*)/;

function namedIn(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !COMMENT.test(line))
    .flatMap((line) => [...line.matchAll(NAMED)].map(([, words = '']) => words));
}

const LINES = productSources().flatMap(({ path, text }) =>
  namedIn(text)
    .filter((line) => !INTERNAL.test(line))
    .map((line) => [path, line] as const),
);

test('sentences-name-commands', () => {
  expect(LINES.length).toBeGreaterThan(80);
});

test.each(LINES)('%s: muster %s', (_, line) => {
  expect(problemOf(line)).toBeUndefined();
});

const API = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as { readonly paths: object };

/** Made from the name of a kind, so no source has them whole. */
test.each(PROGRAM.representations.map(({ kind }) => kind.name))('what-lists-each-%s', (kind) => {
  const [, program, line = ''] = /"(muster|GET) ([^"]+)"/.exec(noSuch(kind, 'x').message) ?? [];
  if (program === 'GET') expect(Object.keys(API.paths)).toContain(line);
  else expect(problemOf(line)).toBeUndefined();
});

test.each([
  ['hosts list', undefined],
  ['hosts lst', '"hosts" has no "lst"'],
  ['host list', 'no command "host"'],
  ['scale-in end ${id} --disconnect', undefined],
  ['scale-in end ${id} --now', '"end" has no option --now'],
  ['alarms acknowledge ${id}', undefined],
  ['alarms', undefined],
  ['hosts force-up ${id}', '"hosts" has no "force-up"'],
  ['hosts force-down', undefined],
  ['hosts force-down ${id}', '"force-down" needs --reason'],
  ['baremetal nodes list --state available', undefined],
  ['baremetal nodes', undefined],
  ['baremetal nodes lst', '"nodes" has no "lst"'],
  ['baremetal nodes confirm-clean n1', '"confirm-clean" needs --reason'],
])('a-command-line: %s', (line, problem) => {
  expect(problemOf(line)).toBe(problem);
});

const DOCUMENTS = globSync(['docs/*.md', 'README.md']);
/** In a block of code, as it is typed: after a prompt, an assignment or another command. */
const TYPED = /(?:^ {4}(?:\$ )?|\$\(|&& |; |\| )(?:sudo |npx |[A-Z_]+=\S+ )*muster ([a-z][^|;#>&")]*)/g;

const DOCUMENTED = DOCUMENTS.flatMap((path) =>
  readFileSync(path, 'utf8')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.startsWith('    '))
    .flatMap((line) => [...line.matchAll(TYPED)].map(([, words = '']) => [path, words.trim()] as const)),
);

test('documents-show-commands', () => {
  expect(DOCUMENTED.length).toBeGreaterThan(150);
});

test.each(DOCUMENTED)('%s shows: muster %s', (_, line) => {
  expect(problemOf(line)).toBeUndefined();
});
