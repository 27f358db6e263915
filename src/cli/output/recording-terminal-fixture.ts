// A terminal for tests, which keeps what is written to it.
import type { Terminal } from './terminal.ts';

export interface RecordingTerminal {
  readonly terminal: Terminal;
  readonly written: { out: string; err: string };
}

export function recordTerminal(facts: Partial<Omit<Terminal, 'out' | 'err'>>): RecordingTerminal {
  const written = { out: '', err: '' };
  const terminal: Terminal = {
    env: {},
    outIsTerminal: false,
    errIsTerminal: false,
    columns: () => 80,
    input: () => Promise.resolve(new Uint8Array()),
    interruptSignal: () => new AbortController().signal,
    ...facts,
    out: (text) => {
      written.out += text;
    },
    err: (text) => {
      written.err += text;
    },
  };
  return { terminal, written };
}
