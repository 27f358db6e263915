// The log of a program, one JSON object a line on standard error, and the sentences beside it. Names and reasons in them come
// from callers: whatever a terminal would obey is escaped, and the JSON stays JSON.
import { pino, type Logger } from 'pino';
import { escapeControls } from '../cli/index.ts';

export function programLog(level: string): Logger {
  // Written at once: what a program says last is what people want to read.
  const destination = pino.destination({ dest: 2, sync: true });
  return pino({ level, base: null }, { write: (line) => void destination.write(escapeControls(line)) });
}

export function writeSentence(to: NodeJS.WriteStream, text: string): void {
  to.write(escapeControls(text));
}
