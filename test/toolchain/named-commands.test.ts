// Every command line that a sentence of the program names is one that the command line takes: its words, and its options.
import { expect, test } from 'vitest';
import type { Command } from 'commander';
import { COMMANDS } from '../../src/cli/commands.ts';
import type { Cli } from '../../src/cli/command.ts';
import { globalOptions } from '../../src/cli/program.ts';
import { productSources } from './refusals-in-source.ts';

/** In a string or a template: up to what ends the command line there. */
const NAMED = /\bmuster ((?:[a-z][a-z-]*)(?:[^"`'\n\\;]|'')*)/g;

/** What begins so is a name inside the program: of a lock, a schema, a statement. */
const INTERNAL = /^(?:lease|schema|statement) /;

const COMMENT = /^\s*(?:\/\/|\*|\/\*)/;

function namedIn(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !COMMENT.test(line))
    .flatMap((line) => [...line.matchAll(NAMED)].map(([, words = '']) => words));
}

const ROOT = COMMANDS.map((make) => make({} as Cli));

function find(among: readonly Command[], word: string | undefined): Command | undefined {
  return among.find((one) => one.name() === word || one.aliases().includes(word ?? ''));
}

/** What is wrong with a command line; undefined when it is one. A command without arguments is only named. */
function problemOf(line: string): string | undefined {
  const words = line
    .replaceAll(/\$\{[^}]*\}?/g, 'X')
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/[.,):]+$/, ''));
  const group = find(ROOT, words[0]);
  if (group === undefined) return `no command "${words[0]}"`;
  const part = find(group.commands, words[1]);
  const isBare = words.length === 1 || group.commands.length === 0;
  if (part === undefined && !isBare) return `"${words[0]}" has no "${words[1]}"`;
  const command = part ?? group;
  const given = words.filter((word) => /^--[a-z]/.test(word)).map((word) => word.replace(/[^a-z-].*$/, ''));
  const known = [...command.options, ...globalOptions()].map(({ long }) => long);
  const wrong = given.find((flag) => !known.includes(flag));
  if (wrong !== undefined) return `"${command.name()}" has no option ${wrong}`;
  const isCall = words.length > (part === undefined ? 1 : 2);
  const missing = command.options.find(({ mandatory, long }) => mandatory && !given.includes(long ?? ''));
  return isCall && missing !== undefined ? `"${command.name()}" needs ${missing.long}` : undefined;
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
])('a-command-line: %s', (line, problem) => {
  expect(problemOf(line)).toBe(problem);
});
