// How the program ends, for scripts. The list in `--help` is made from here.

export const EXIT = {
  ok: 0,
  refused: 1,
  different: 1,
  usage: 2,
  unreachable: 3,
  operationFailed: 4,
  timeout: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODES: readonly (readonly [code: ExitCode, about: string])[] = [
  [EXIT.ok, 'done'],
  [EXIT.refused, 'refused by the server, or the server could not start; of "dataplane diff": there is a difference'],
  [EXIT.usage, 'wrong usage: no request was sent'],
  [EXIT.unreachable, 'the server, or the switch, cannot be reached'],
  [EXIT.operationFailed, 'the operation failed or was cancelled'],
  [EXIT.timeout, 'still running when --timeout was over'],
  [EXIT.interrupted, 'interrupted (Ctrl-C)'],
];

/** Ends the program with a sentence and a code. The only way that commands fail on purpose. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

/** A change without any option that says what. The flags of the command complete the sentence. */
export class NothingSaid extends CommandFailure {
  constructor(todo: string) {
    super(EXIT.usage, `Say what to ${todo}`);
  }
}

export function usage(message: string): CommandFailure {
  return new CommandFailure(EXIT.usage, message);
}
