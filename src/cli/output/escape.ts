// Text of others may hold characters that a terminal obeys instead of showing: escape sequences, C1 controls, marks that turn a
// line round. All text passes here on its way out, so that no command has to remember it; only what this program itself
// requests (colours, moving the cursor) becomes an escape sequence.
import { randomBytes } from 'node:crypto';
import type { Terminal } from './terminal.ts';

// C0 but for tab and newline, DEL, C1; Arabic letter mark, left-to-right and right-to-left marks, line and paragraph separators,
// embeddings and overrides, isolates, and the deprecated format characters after them.
const CONTROLS = String.raw`[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u206F]`;
const EVERY_CONTROL = new RegExp(CONTROLS, 'gu');
const ANY_CONTROL = new RegExp(CONTROLS, 'u');

/** Random per process, so that text from a server cannot pass for a sequence of this program. */
const OWN_MARKER = randomBytes(12).toString('hex');
const OUTGOING = new RegExp(String.raw`\u0002${OWN_MARKER}:([\d;]*[A-Za-z])\u0003|${CONTROLS}`, 'gu');

/** As `\u009b`: seen in plain text, and the same character in a JSON string or in a YAML one with double quotes. */
export function escapeControls(text: string): string {
  return ANY_CONTROL.test(text) ? text.replaceAll(EVERY_CONTROL, escapeCharacter) : text;
}

export function hasControls(text: string): boolean {
  return ANY_CONTROL.test(text);
}

function escapeCharacter(character: string): string {
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A control sequence of this program, such as `31m`, to be put into text for a terminal. */
export function controlSequence(code: string): string {
  return `\u0002${OWN_MARKER}:${code}\u0003`;
}

/** The last step: our own sequences are written as such, everything else that could be one is escaped. */
export function toTerminal(text: string): string {
  return text.replaceAll(OUTGOING, (found: string, code: string | undefined) =>
    code === undefined ? escapeCharacter(found) : `\u001B[${code}`,
  );
}

/** The same terminal, which nothing reaches unescaped. */
export function escapingTerminal(terminal: Terminal): Terminal {
  return {
    ...terminal,
    out: (text) => terminal.out(toTerminal(text)),
    err: (text) => terminal.err(toTerminal(text)),
  };
}
