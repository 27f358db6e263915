// The environment of a command: its streams, its input, its interrupt signal. Tests replace it.

export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Results, for people and for pipes. */
  out(text: string): void;
  /** Everything that is not a result: progress, hints, errors. */
  err(text: string): void;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  /** Width of the terminal that `err` goes to. */
  columns(): number;
  /** Standard input; reading ends when so many bytes are there. */
  input(bytesMax: number): Promise<Uint8Array>;
  /** Aborted at Ctrl-C. A command that uses it handles the interrupt itself; a second Ctrl-C ends the program at once. */
  interruptSignal(): AbortSignal;
}

export function realTerminal(): Terminal {
  let interrupt: AbortController | undefined;
  const interruptSignal = (): AbortSignal => {
    if (interrupt === undefined) {
      const made = new AbortController();
      interrupt = made;
      // Once: the next Ctrl-C finds no listener and kills, as it does for every program.
      process.once('SIGINT', () => made.abort());
    }
    return interrupt.signal;
  };
  exitOnBrokenPipe();
  return {
    env: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY,
    errIsTerminal: process.stderr.isTTY,
    columns: () => process.stderr.columns || 80,
    input: async (bytesMax) => {
      const parts: Buffer[] = [];
      let length = 0;
      for await (const part of process.stdin) {
        parts.push(part as Buffer);
        length += (part as Buffer).length;
        if (length >= bytesMax) break;
      }
      return Buffer.concat(parts);
    },
    interruptSignal,
  };
}

/** `muster watch | head` ends silently when head does. */
function exitOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}
