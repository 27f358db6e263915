// What people hand in as a file or on standard input: YAML or JSON.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { usage, type Failure } from './exit-code.ts';
import type { Terminal } from './terminal.ts';
import { harmless } from './text-width.ts';

/** A longer line would be broken by the terminal, and the mark under it would point nowhere. */
const SHOWN_MAX = 120;

export async function readInput(terminal: Terminal, path: string): Promise<unknown> {
  const text = path === '-' ? await terminal.input() : readText(path);
  const source = path === '-' ? 'Standard input' : path;
  const { LineCounter, parseDocument, visit } = await import('yaml');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) {
    const problem = error.code === 'MULTIPLE_DOCS' ? 'a second document begins' : error.message;
    throw misread({ source, text, at: lines.linePos(error.pos[0]), problem });
  }
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return;
      const problem = `nothing before it is called &${alias.source}`;
      throw misread({ source, text, at: lines.linePos(alias.range?.[0] ?? 0), problem });
    },
  });
  return document.toJS() as unknown;
}

interface Misread {
  readonly source: string;
  readonly text: string;
  /** Both from 1. */
  readonly at: { readonly line: number; readonly col: number };
  readonly problem: string;
}

/** Names the place, and shows it: whoever wrote the file finds it faster than by counting. */
function misread({ source, text, at: { line, col }, problem }: Misread): Failure {
  const said = `${source} is neither YAML nor JSON at line ${line}, column ${col}: ${problem}.`;
  const shown = text.split('\n')[line - 1]?.trimEnd() ?? '';
  if (shown === '' || shown.length > SHOWN_MAX) return usage(said);
  return usage(`${said}\n  ${harmless(shown)}\n  ${' '.repeat(col - 1)}^`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw usage(`There is no file ${path}.`);
    throw usage(`${path} cannot be read: ${message}`);
  }
}

/** A value on the command line: as YAML, so that 5, true, [a, b] and {a: 1} mean what they look like. */
export async function readValue(text: string): Promise<unknown> {
  const { parse } = await import('yaml');
  try {
    return parse(text) as unknown;
  } catch (error) {
    throw usage(`"${text}" is not a value: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
  }
}

export function wholeNumber(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw usage(`"${text}" is not a whole number.`);
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
export function words(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter((word) => word !== '')];
}
