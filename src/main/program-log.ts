// The log of a program: one JSON object per line on standard error, and plain sentences. Names and reasons in them come from callers:
// control characters are escaped, secrets that others repeat are taken out, and the JSON stays valid.
import { pino, type Logger } from 'pino';
import { SecretMask } from '../access/index.ts';
import { escapeControls } from '../cli/index.ts';

export function programLog(level: string, mask = new SecretMask()): Logger {
  // Written synchronously: the last lines of a program say why it ended.
  const destination = pino.destination({ dest: 2, sync: true });
  return createLog(level, mask, (line) => void destination.write(line));
}

export function createLog(level: string, mask: SecretMask, write: (line: string) => void): Logger {
  return pino({ level, base: null }, { write: (line) => write(escapeControls(mask.mask(line))) });
}

export function writeSentence(to: NodeJS.WriteStream, text: string): void {
  to.write(escapeControls(text));
}
