// Programs of the system, run to their end. The error of one that fails has its command and its output.
import { execFile } from 'node:child_process';

/** No tool that the lab uses takes this long, even on a busy machine: it waits for something that is gone. */
const PATIENCE_MS = 60_000;
const OUTPUT_BYTES_MAX = 256 << 20;

export type ProgramCommand = readonly string[];

class CommandFailed extends Error {
  readonly code = 'command-failed';

  constructor(command: ProgramCommand, said: string, cause: unknown) {
    super(`${command.join(' ')}: ${said.trim()}`, { cause });
    this.name = 'CommandFailed';
  }
}

/** What the program wrote. */
export function run(command: ProgramCommand, input?: string): Promise<string> {
  const [program = '', ...args] = command;
  return new Promise((done, failed) => {
    const child = execFile(program, args, { timeout: PATIENCE_MS, maxBuffer: OUTPUT_BYTES_MAX }, (error, out, err) => {
      if (error === null) done(out);
      else failed(new CommandFailed(input === undefined ? command : [...command, input], err || error.message, error));
    });
    // A program that ends without reading its input has its own reason for that, and says it.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
}

/** One after the other; those of `ip` that follow each other in one namespace share a process, which is most of their cost. */
export async function runAll(commands: readonly ProgramCommand[], signal?: AbortSignal): Promise<void> {
  for (const { program, lines } of batches(commands)) {
    signal?.throwIfAborted();
    if (lines.length === 0) await run(program);
    else await run([...program, '-batch', '-'], `${lines.join('\n')}\n`);
  }
}

export interface CommandBatch {
  readonly program: ProgramCommand;
  /** Empty: the program is a command by itself. */
  readonly lines: readonly string[];
}

export function batches(commands: readonly ProgramCommand[]): readonly CommandBatch[] {
  const found: { program: ProgramCommand; lines: string[] }[] = [];
  for (const command of commands) {
    const { program, line } = split(command);
    const last = found.at(-1);
    if (line === undefined) found.push({ program, lines: [] });
    else if (last !== undefined && last.lines.length > 0 && isSameProgram(last.program, program)) last.lines.push(line);
    else found.push({ program, lines: [line] });
  }
  return found;
}

function split(command: ProgramCommand): { readonly program: ProgramCommand; readonly line?: string } {
  if (command[0] !== 'ip' || (command[1] === 'netns' && command[2] === 'exec')) return { program: command };
  const options = command[1] === '-n' ? 3 : 1;
  return { program: command.slice(0, options), line: command.slice(options).join(' ') };
}

function isSameProgram(one: ProgramCommand, other: ProgramCommand): boolean {
  return one.length === other.length && one.every((word, index) => word === other[index]);
}
