// The lines of a file or of standard input, in parts that one call of the API takes. A part can be read again: a call that broke is repeated.
import { createReadStream, statSync } from 'node:fs';
import { usage } from '../exit-code.ts';
import type { Terminal } from '../output/terminal.ts';

/** What the API takes in one call. */
const LINES_MAX = 100_000;
const BYTES_MAX = 64 * 1024 * 1024;
/** Of standard input, which is kept: it cannot be read again. */
const INPUT_BYTES_MAX = 4 * BYTES_MAX;
const NEWLINE = 0x0a;

export interface LinePart {
  /** The number of its first line in the whole. */
  readonly firstLine: number;
  readonly lines: number;
  readonly read: () => AsyncIterable<Uint8Array>;
}

type Read = (range: { readonly start: number; readonly end: number }) => AsyncIterable<Uint8Array>;

/** From the beginning to before the end, in parts of whole lines. */
export async function readLineParts(terminal: Terminal, path: string): Promise<readonly LinePart[]> {
  if (path !== '-') {
    const read = readFileRange(path);
    return splitLines(read, { linesMax: LINES_MAX, bytesMax: BYTES_MAX });
  }
  const bytes = await terminal.input(INPUT_BYTES_MAX + 1);
  if (bytes.length > INPUT_BYTES_MAX) throw usage('Standard input is larger than 256 MiB. Name a file instead.');
  return splitLines(({ start, end }) => splitIntoPieces(bytes.subarray(start, end)), {
    linesMax: LINES_MAX,
    bytesMax: BYTES_MAX,
  });
}

interface PartLimits {
  readonly linesMax: number;
  readonly bytesMax: number;
}

/** Reads it once to find where lines end. A line that is too long by itself is the server's to refuse. */
export async function splitLines(read: Read, { linesMax, bytesMax }: PartLimits): Promise<readonly LinePart[]> {
  const parts: LinePart[] = [];
  let [at, start, lineStart] = [0, 0, 0];
  let [lines, firstLine] = [0, 1];
  const close = (end: number): void => {
    const range = { start, end };
    if (end > start) parts.push({ firstLine, lines, read: () => read(range) });
    firstLine += lines;
    lines = 0;
    start = end;
  };
  for await (const chunk of read({ start: 0, end: Infinity })) {
    for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, newline + 1)) {
      const end = at + newline + 1;
      if (lines === linesMax || (end - start > bytesMax && lines > 0)) close(lineStart);
      lines += 1;
      lineStart = end;
    }
    at += chunk.length;
  }
  if (at > lineStart) {
    if (lines === linesMax || (at - start > bytesMax && lines > 0)) close(lineStart);
    lines += 1;
  }
  close(at);
  return parts;
}

function readFileRange(path: string): Read {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw usage(`There is no file ${path}.`);
  if (stats.isDirectory()) throw usage(`${path} is a folder. Name a file in it.`);
  if (!stats.isFile()) throw usage(`${path} cannot be read twice. Say "-" and lead it to standard input.`);
  // The last byte of a stream is part of it.
  return ({ start, end }) => createReadStream(path, { start, end: end - 1 });
}

const PIECE_BYTES = 64 * 1024;

async function* splitIntoPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}
