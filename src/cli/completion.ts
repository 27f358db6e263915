// muster completion: scripts for shells, made from the commands themselves.
import { Argument, Command } from 'commander';
import { addExamples, rootOf, type Cli } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function completionCommand(cli: Cli): Command {
  const command = new Command('completion')
    .description('Print a script that completes commands and options in your shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell, _options: object, called: Command) => {
      cli.terminal.out(completionScript(shell, rootOf(called)));
    });
  return addExamples(
    command,
    ['bash', 'source <(muster completion bash)'],
    ['zsh', 'muster completion zsh > "${fpath[1]}/_muster"'],
    ['fish', 'muster completion fish > ~/.config/fish/completions/muster.fish'],
  );
}

/** What may follow a path of commands. */
interface Level {
  /** The words before, joined by spaces; empty at the top. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
  /** Options that take a value: after them no command follows. */
  readonly valued: readonly string[];
  /** Fixed values of the options that have some, by option. */
  readonly choices: readonly (readonly [option: string, values: readonly string[]])[];
}

interface Word {
  readonly name: string;
  readonly about: string;
}

function completionScript(shell: Shell, root: Command): string {
  const levels = levelsOf(root, root, '');
  switch (shell) {
    case 'bash':
      return bash(levels);
    case 'zsh':
      return zsh(levels);
    case 'fish':
      return fish(levels);
  }
}

function levelsOf(root: Command, command: Command, path: string): Level[] {
  const options = [...command.options, ...(command === root ? [] : root.options)].filter((option) => !option.hidden);
  const words = options.flatMap(({ short, long, description }) =>
    [long, short].filter((name) => name !== undefined).map((name) => ({ name, about: description })),
  );
  const level: Level = {
    path,
    commands: command.commands.map((one) => ({ name: one.name(), about: one.description() })),
    options: [...words, { name: '--help', about: 'show help' }],
    valued: options.filter((option) => option.required || option.optional).flatMap(({ long }) => long ?? []),
    choices: options.flatMap(({ long, argChoices }) => (long && argChoices ? [[long, argChoices] as const] : [])),
  };
  const below = command.commands.flatMap((one) =>
    levelsOf(root, one, path === '' ? one.name() : `${path} ${one.name()}`),
  );
  return [level, ...below];
}

const names = (words: readonly Word[]): string => words.map(({ name }) => name).join(' ');

function bash(levels: readonly Level[]): string {
  const all = levels.find(({ path }) => path === '');
  const valued = [...new Set(levels.flatMap((level) => level.valued))].join('|');
  const choices = new Map(levels.flatMap((level) => level.choices));
  return `# bash completion for muster; load it with: source <(muster completion bash)
_muster() {
  local word path="" skip="" current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$previous" in
${[...choices].map(([option, values]) => `    ${option}) COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$current")); return ;;`).join('\n')}
    --data|--token-file|--file|-f|--tls-cert|--tls-key|--ca) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ -n "$skip" ]]; then skip=""; continue; fi
    case "$word" in
      ${valued}) skip=1 ;;
      -*) ;;
      *) case " ${levels.map(({ path }) => path.replaceAll(' ', '/')).join(' ')} " in
           *" \${path:+$path/}$word "*) path="\${path:+$path/}$word" ;;
         esac ;;
    esac
  done
  case "$path" in
${levels
  .filter(({ path }) => path !== '')
  .map(
    ({ path, commands, options }) => `    ${path.replaceAll(' ', '/')}) word="${names(commands)} ${names(options)}" ;;`,
  )
  .join('\n')}
    *) word="${names(all?.commands ?? [])} ${names(all?.options ?? [])}" ;;
  esac
  COMPREPLY=($(compgen -W "$word" -- "$current"))
}
complete -o default -F _muster muster
`;
}

function zsh(levels: readonly Level[]): string {
  const cases = levels.map(
    ({ path, commands, options }) => `    ${quote(path)})
      words_here=(
${zshWords([...commands, ...options])}
      ) ;;`,
  );
  return `#compdef muster
# zsh completion for muster; put it into a folder of your fpath as _muster
_muster() {
  local -a words_here
  local word at=""
  local -a known=(${levels.map(({ path }) => quote(path)).join(' ')})
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    if (( \${known[(Ie)\${at:+$at }$word]} )); then at="\${at:+$at }$word"; fi
  done
  case "$at" in
${cases.join('\n')}
  esac
  _describe -o 'muster' words_here || _files
}
if [ "$funcstack[1]" = "_muster" ]; then _muster "$@"; else compdef _muster muster; fi
`;
}

function fish(levels: readonly Level[]): string {
  const lines = levels.flatMap(({ path, commands, options, choices }) => {
    const here = quote(`__muster_at ${doubleQuote(path)}`);
    return [
      ...commands.map(({ name, about }) => `complete -c muster -f -n ${here} -a ${quote(name)} -d ${quote(about)}`),
      ...options.map(({ name, about }) => {
        const flag = name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
        const values = choices.find(([option]) => option === name)?.[1];
        return `complete -c muster -n ${here} ${flag}${values ? ` -xa ${quote(values.join(' '))}` : ''} -d ${quote(about)}`;
      }),
    ];
  });
  return `# fish completion for muster
function __muster_at
  set -l path ""
  set -l known ${levels.map(({ path }) => quote(path)).join(' ')}
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$path $word")
    if contains -- "$next" $known
      set path "$next"
    end
  end
  test "$path" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function zshWords(words: readonly Word[]): string {
  return words.map(({ name, about }) => `      ${quote(`${name.replaceAll(':', '\\:')}:${about}`)}`).join('\n');
}

/** Between single quotes, for all three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function doubleQuote(text: string): string {
  return `"${text}"`;
}
