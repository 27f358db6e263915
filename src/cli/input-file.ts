// What people hand in as a file or on standard input: YAML or JSON.
import { readFileSync } from 'node:fs';
import { usage } from './exit-code.ts';
import type { Terminal } from './terminal.ts';

export async function readInput(terminal: Terminal, path: string): Promise<unknown> {
  const text = path === '-' ? await terminal.input() : readText(path);
  const { parse, YAMLParseError } = await import('yaml');
  try {
    return parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw usage(`${path === '-' ? 'Standard input' : path} is neither YAML nor JSON: ${error.message.split('\n')[0]}`);
  }
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

/** `a,b` and repeated options alike. */
export function words(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter((word) => word !== '')];
}
