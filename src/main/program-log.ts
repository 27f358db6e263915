// The log of a program: one JSON object per line on standard error, and plain sentences. Names and reasons in them come from callers:
// control characters are escaped, and the JSON stays valid.
import { pino, type Logger } from 'pino';
import { escapeControls } from '../cli/index.ts';

export function programLog(level: string): Logger {
  // Written synchronously: the last lines of a program are what people want to read.
  const destination = pino.destination({ dest: 2, sync: true });
  return pino({ level, base: null }, { write: (line) => void destination.write(escapeControls(line)) });
}

export function writeSentence(to: NodeJS.WriteStream, text: string): void {
  to.write(escapeControls(text));
}
