// Whether a command line is one that the program takes: its words, its options, and those that it needs. Values are not looked at.
import type { Command } from 'commander';
import { COMMANDS } from '../../src/cli/commands.ts';
import type { Cli } from '../../src/cli/command.ts';
import { globalOptions } from '../../src/cli/program.ts';

/** Only what is declared is looked at, so nothing is run. */
export const COMMAND_TREE: readonly Command[] = COMMANDS.map((make) => make({} as Cli));

function find(among: readonly Command[], word: string | undefined): Command | undefined {
  return among.find((one) => one.name() === word || one.aliases().includes(word ?? ''));
}

/** What is wrong with a command line, which begins after "muster"; undefined when it is one. A command without arguments is only named. */
export function problemOf(line: string): string | undefined {
  const words = line
    .replaceAll(/\$\{[^}]*\}?/g, 'X')
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/[.,):]+$/, ''));
  const group = find(COMMAND_TREE, words[0]);
  if (group === undefined) return `no command "${words[0]}"`;
  let [command, depth] = [group, 1];
  while (command.commands.length > 0 && words.length > depth && !(words[depth] ?? '').startsWith('-')) {
    const part = find(command.commands, words[depth]);
    if (part === undefined) return `"${command.name()}" has no "${words[depth]}"`;
    [command, depth] = [part, depth + 1];
  }
  const given = words.filter((word) => /^--[a-z]/.test(word)).map((word) => word.replace(/[^a-z-].*$/, ''));
  const known = [...command.options, ...globalOptions()].map(({ long }) => long);
  const wrong = given.find((flag) => !known.includes(flag) && flag !== '--help' && flag !== '--version');
  if (wrong !== undefined) return `"${command.name()}" has no option ${wrong}`;
  const isCall = words.length > depth;
  const missing = command.options.find(({ mandatory, long }) => mandatory && !given.includes(long ?? ''));
  return isCall && missing !== undefined ? `"${command.name()}" needs ${missing.long}` : undefined;
}
