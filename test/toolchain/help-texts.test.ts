// What every help text must be: each command and option says what it does, values say how they are written, examples can be typed.
import type { EventEmitter } from 'node:events';
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { COMMAND_TREE, problemOf } from './command-line.ts';
import { RETIRED_PROSE } from './retired-prose.ts';

interface Placed {
  readonly path: string;
  readonly command: Command;
}

function withParts(command: Command, above = 'muster'): Placed[] {
  const path = `${above} ${command.name()}`;
  return [{ path, command }, ...command.commands.flatMap((part) => withParts(part, path))];
}

const ALL = COMMAND_TREE.flatMap((command) => withParts(command));
const OPTIONS = ALL.flatMap(({ path, command }) => command.options.map((option) => ({ path, option })));

/** How a value is written, by what stands in the angle brackets. */
const FORMS: readonly (readonly [value: RegExp, about: RegExp])[] = [
  [/<time>/, /such as|default|\bor a time\b|the same forms/],
  [/<size>/, /[MG]iB/],
  [/<name=count>/, /such as/],
  [/<names>/, /commas/],
  [/<flag>|<boolean>/, /\(true\).*\(false\)|true.*false/],
  [/<first-last>|<prefix>/, /such as/],
  [/<fields>/, /=/],
  [/<state>/, /,.* or |: |such as/],
];

function formProblem({ flags, description, argChoices, defaultValue }: Option): string | undefined {
  if (argChoices !== undefined || defaultValue !== undefined) return undefined;
  const form = FORMS.find(([value]) => value.test(flags));
  return form === undefined || form[1].test(description) ? undefined : `${flags}: ${description}`;
}

test.each(OPTIONS.map(({ path, option }) => [path, option.flags, option] as const))(
  '%s %s',
  (_path, _flags, option) => {
    expect(option.description).not.toBe('');
    expect(option.description).not.toMatch(RETIRED_PROSE);
    expect(formProblem(option)).toBeUndefined();
  },
);

/** The text that a command adds to its help. */
function notesOf(command: Command): string {
  const texts: string[] = [];
  const context = { error: false, command, write: (text: string) => void texts.push(text) };
  for (const add of (command as unknown as EventEmitter).listeners('afterHelp'))
    (add as (given: typeof context) => void)(context);
  return texts.join('');
}

const LEAVES = ALL.filter(({ command, path }) => command.commands.length === 0 && path !== 'muster version');

test.each(LEAVES.map(({ path, command }) => [path, command] as const))(
  '%s has an example that can be typed',
  (path, command) => {
    expect(command.description()).not.toMatch(RETIRED_PROSE);
    const lines = notesOf(command)
      .split('\n')
      .flatMap((line) => [...(/(?:^ {2}|\| |\$\(|<\()(?:[A-Z_]+=\S+ )*(muster [^#|)]*)/.exec(line)?.slice(1) ?? [])])
      .map((line) => line.trim());
    expect(lines.some((line) => line.startsWith(path))).toBe(true);
    expect(
      lines.map((line) => problemOf(line.replace(/^muster /, ''))).filter((problem) => problem !== undefined),
    ).toEqual([]);
  },
);

/** A command that can lose data says so in its help. */
test.each(['instances delete', 'instances shelve', 'instances rebuild'])(
  '%s says that what is on disks is lost',
  (words) => {
    const command = ALL.find(({ path }) => path === `muster ${words}`)?.command;
    expect(command?.description()).toMatch(/disks/);
  },
);
