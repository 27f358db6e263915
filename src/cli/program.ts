// The program `muster`: global options, help, exit codes. Its commands are listed in commands.ts.
import { type Argument, Command, CommanderError, Help, Option } from 'commander';
import type { Cli, NodeTools, Starters, StoreTools } from './command.ts';
import { COMMANDS } from './commands.ts';
import { escapingTerminal } from './output/escape.ts';
import { EXIT, EXIT_CODES, CommandFailure, usage } from './exit-code.ts';
import { ApiRefusal } from './client/problem.ts';
import { parseTimeout } from './output/duration.ts';
import { DEFAULT_SERVER } from './session.ts';
import type { Terminal } from './output/terminal.ts';

export interface CliOptions {
  readonly terminal: Terminal;
  readonly version: string;
  readonly starters: Starters;
  readonly node: NodeTools;
  readonly stores: StoreTools;
}

/** Runs one command line (without the program's own name) and answers the exit code. */
export async function runCli(words: readonly string[], options: CliOptions): Promise<number> {
  const terminal = escapingTerminal(options.terminal);
  const cli: Cli = { ...options, terminal, exitCode: EXIT.ok };
  const program = makeProgram(cli);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof CommandFailure)) {
      terminal.err(faultText(error));
      return EXIT.refused;
    }
    terminal.err(failureText(error, program.opts<{ verbose?: boolean }>().verbose === true));
    return error.exitCode;
  }
}

function failureText(failure: CommandFailure, verbose: boolean): string {
  const id = failure instanceof ApiRefusal ? failure.body.requestId : undefined;
  const more = verbose && id !== undefined ? `\nRequest id: ${id}` : '';
  return `${failure.message}${more}\n`;
}

/** Written here and not left to Node: what a server has sent may be in the message, and nothing of it may reach a terminal as it is. */
function faultText(error: unknown): string {
  const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `This should not happen: the server does not answer as this version of muster expects, or muster has a fault. Report it with this:\n${said}\n`;
}

function makeProgram(cli: Cli): Command {
  const program = new Command('muster')
    .description('Brings compute nodes into service and takes them out again, without dropping what runs on them')
    .version(cli.version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command');
  for (const option of globalOptions()) program.addOption(option);
  for (const command of COMMANDS) program.addCommand(command(cli));
  program.addHelpText('after', `\n${topLevelNotes()}`);
  configure(program, cli);
  return program;
}

const REQUEST_TIMEOUT_MS = 30_000;

export function globalOptions(): Option[] {
  return [
    new Option('--server <url>', `the server to connect to (env MUSTER_SERVER; else ${DEFAULT_SERVER})`),
    new Option('--token <token>', 'the token to show; others can see it in the list of processes'),
    new Option('--token-file <path>', 'the token from a file (else env MUSTER_TOKEN, else admin-token in --data)'),
    new Option('--data <folder>', 'the data folder of a server on this machine').default('./data'),
    new Option('-o, --output <form>', 'how results are shown').choices(['table', 'json', 'yaml']).default('table'),
    new Option('--no-color', 'no colours, also on a terminal (env NO_COLOR)'),
    new Option('--request-timeout <time>', 'for one request with its retries, such as 10s or 2m')
      .argParser(parseTimeout)
      .default(REQUEST_TIMEOUT_MS, '30s'),
    new Option('-v, --verbose', 'log every request, and its id when it is refused'),
  ];
}

function topLevelNotes(): string {
  const codes = EXIT_CODES.map(([code, about]) => `  ${String(code).padStart(3)}  ${about}`);
  return [
    'Exit codes:',
    ...codes,
    '',
    'Examples:',
    '  muster demo                          # a server with a simulated fleet, to look around',
    '  muster hosts list                    # what is in the fleet',
    '  muster hosts join compute-1 --wait   # bring a host into service',
    '  muster instances create web --flavor small --network lan --count 3 --wait',
    '  muster watch                         # follow every change',
  ].join('\n');
}

/** The same behaviour for every command: our exit codes, our streams, all options in every help. */
function configure(command: Command, cli: Cli): void {
  command
    .exitOverride()
    .showHelpAfterError('(see --help)')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false, optionDescription })
    .configureOutput({
      writeOut: (text) => cli.terminal.out(text),
      writeErr: (text) => cli.terminal.err(text),
      // No colours in help, and a fixed width: help is read in pagers and compared in tests.
      getOutHelpWidth: () => 110,
      getErrHelpWidth: () => 110,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(text.replace(/^error: /, '')),
    });
  for (const one of [...command.options, ...command.registeredArguments]) nameInFailures(one);
  for (const one of command.commands) configure(one, cli);
}

/** What a parser refuses names the option: several of a command may take the same form. */
function nameInFailures(what: Option | Argument): void {
  const parse = what.parseArg;
  if (parse === undefined) return;
  const name = what instanceof Option ? (what.long ?? what.flags) : what.name();
  what.parseArg = <T>(value: string, previous: T): T => {
    try {
      return parse.call(what, value, previous) as T;
    } catch (error) {
      throw error instanceof CommandFailure && error.exitCode === EXIT.usage
        ? usage(`${name}: ${error.message}`)
        : error;
    }
  };
}

/** Help marks the mandatory options. */
function optionDescription(option: Option): string {
  const about = new Help().optionDescription(option);
  return option.mandatory ? `${about} (required)` : about;
}
