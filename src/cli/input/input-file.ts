// Reads YAML or JSON from a file or from standard input.
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname } from 'node:path';
import { usage, type CommandFailure } from '../exit-code.ts';
import type { YamlProblem } from './plain-yaml.ts';
import type { Terminal } from '../output/terminal.ts';
import { truncate, sanitizeLine } from '../output/text-width.ts';

/** A longer line would be broken by the terminal, and the mark under it would point nowhere. */
const SHOWN_MAX = 120;
const READ_BYTES = 64 * 1024;

/** Four times what the API takes at once. */
const INPUT_BYTES_MAX = 4 * 1024 * 1024;

export async function readInput(terminal: Terminal, path: string): Promise<unknown> {
  const source = path === '-' ? 'Standard input' : path;
  const text = await readText(terminal, path);
  const { readYaml } = await import('./plain-yaml.ts');
  const read = readYaml(text);
  if (read.kind === 'value') return read.value;
  throw inputFailure({ source, text, ...read });
}

/** Of a file, or of standard input for `-`. */
export async function readText(terminal: Terminal, path: string): Promise<string> {
  const source = path === '-' ? 'Standard input' : path;
  return textIn(source, path === '-' ? await terminal.input(INPUT_BYTES_MAX + 1) : readBytes(path));
}

interface UnreadableInput extends YamlProblem {
  readonly source: string;
  readonly text: string;
}

/** Names the line and shows it, which is faster to find than by counting. */
function inputFailure({ source, text, kind, at: { line, col }, problem }: UnreadableInput): CommandFailure {
  const what = kind === 'syntax' ? 'is neither YAML nor JSON' : 'cannot be used';
  const said = `${source} ${what} at line ${line}, column ${col}: ${problem}.`;
  const shown = text.split('\n')[line - 1]?.trimEnd() ?? '';
  if (shown === '' || shown.length > SHOWN_MAX) return usage(said);
  return usage(`${said}\n  ${sanitizeLine(shown)}\n  ${' '.repeat(col - 1)}^`);
}

function textIn(source: string, bytes: Uint8Array): string {
  if (bytes.length > INPUT_BYTES_MAX) throw usage(`${source} is larger than 4 MiB. Split it.`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usage(`${source} is not text in UTF-8. Save it as such.`);
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return boundedBytes(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw usage(`There is no file ${path}.`);
    if (code === 'EISDIR') throw usage(`${path} is a folder. Name a file in it.`);
    if (code === 'ENOTDIR') throw usage(`${path} cannot be read: ${dirname(path)} is not a folder.`);
    if (code === 'EACCES' || code === 'EPERM') throw usage(`${path} cannot be read: it is not yours to read.`);
    if (code === undefined) throw error;
    throw usage(`${path} cannot be read: ${message}`);
  }
}

/** At most one byte more than is taken: a device may have no end. */
function boundedBytes(path: string): Uint8Array {
  // Reading a named pipe without a writer would block for ever; those that a shell makes for `<(…)` are below these folders.
  if (statSync(path).isFIFO() && !/^\/(?:dev|proc)\//.test(path)) {
    throw usage(`${path} is a pipe. Say "-f -" and lead it to standard input.`);
  }
  const file = openSync(path, 'r');
  try {
    const parts: Buffer[] = [];
    for (let left = INPUT_BYTES_MAX + 1; left > 0;) {
      const part = Buffer.alloc(Math.min(left, READ_BYTES));
      const length = readSync(file, part);
      if (length === 0) break;
      parts.push(part.subarray(0, length));
      left -= length;
    }
    return Buffer.concat(parts);
  } finally {
    closeSync(file);
  }
}

/** A value on the command line: as YAML, so that 5, true, [a, b] and {a: 1} mean what they look like. */
export async function readValue(text: string): Promise<unknown> {
  const { readYaml } = await import('./plain-yaml.ts');
  const read = readYaml(text);
  if (read.kind === 'value') return read.value;
  throw usage(`"${truncate(sanitizeLine(text), SHOWN_MAX)}" is not a value: ${read.problem}.`);
}

export function wholeNumber(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw usage(`"${text}" is not a whole number.`);
  return Number(text);
}

export function decimal(text: string): number {
  if (!/^\d{1,12}(?:\.\d{1,6})?$/.test(text)) throw usage(`"${text}" is not a number, such as 1.5.`);
  return Number(text);
}

export function ipAddress(text: string): string {
  if (isIP(text) === 0) throw usage(`"${text}" is not an IP address; 10.0.0.9 and 2001:db8::9 are.`);
  return text;
}

/** `""` takes an address away. */
export function addressOrNone(text: string): string {
  return text === '' ? text : ipAddress(text);
}

/** `a,b` and repeated options alike. */
export function parseWords(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter((word) => word !== '')];
}
