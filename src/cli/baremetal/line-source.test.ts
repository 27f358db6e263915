// A file is cut into parts of whole lines that together are the file, whatever their limits are.
import * as fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runWords } from '../output/terminal-fixture.ts';
import { readLineParts, splitLines, type LinePart } from './line-source.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-lines-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function* piecesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function textOf({ read }: LinePart): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const split = (text: string, linesMax: number, bytesMax = 10_000, size = 7): Promise<readonly LinePart[]> =>
  splitLines(({ start, end }) => piecesOf(text.slice(start, end), size), { linesMax, bytesMax });

describe('parts', () => {
  test.each<[string, string, string[]]>([
    ['one-that-fits', 'a\nb\n', ['a\nb\n']],
    ['as-many-lines-as-fit', 'a\nb\nc\nd\n', ['a\nb\nc\n', 'd\n']],
    ['a-last-line-without-an-end', 'a\nb\nc\nd', ['a\nb\nc\n', 'd']],
    ['exactly-as-many', 'a\nb\nc\n', ['a\nb\nc\n']],
    ['empty-lines-count', '\n\n\n\n', ['\n\n\n', '\n']],
    ['none', '', []],
  ])('%s', async (_, text, expected) => {
    const parts = await split(text, 3);
    expect(await Promise.all(parts.map(textOf))).toEqual(expected);
  });

  test('by-size-as-well', async () => {
    const parts = await split('aaaa\nbbbb\ncccc\n', 100, 10);
    expect(await Promise.all(parts.map(textOf))).toEqual(['aaaa\nbbbb\n', 'cccc\n']);
    expect(parts.map(({ firstLine, lines }) => [firstLine, lines])).toEqual([
      [1, 2],
      [3, 1],
    ]);
  });

  test('never: a part cuts a line, or is more than a call takes; together they are the whole', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 14, max: 40 }),
        async (all, linesMax, bytesMax) => {
          const text = all.join('\n');
          const parts = await split(text, linesMax, bytesMax, 5);
          const texts = await Promise.all(parts.map(textOf));
          expect(texts.join('')).toBe(text);
          for (const [at, part] of texts.entries()) {
            const count = part.split('\n').length - (part.endsWith('\n') ? 1 : 0);
            expect(part.length).toBeLessThanOrEqual(bytesMax);
            expect([parts[at]?.lines, count <= linesMax]).toEqual([count, true]);
            if (at < texts.length - 1) expect(part.endsWith('\n')).toBe(true);
          }
        },
      ),
    );
  });

  test('a-file-can-be-read-again', async () => {
    const path = join(folder, 'nodes.ndjson');
    writeFileSync(path, '{"name":"a"}\n{"name":"b"}\n');
    const [part] = await readLineParts({} as never, path);
    expect([await textOf(part!), await textOf(part!)]).toEqual([
      '{"name":"a"}\n{"name":"b"}\n',
      '{"name":"a"}\n{"name":"b"}\n',
    ]);
  });
});

describe('what-cannot-be-imported-is-said, and-nothing-is-sent', () => {
  test.each<[string, () => string, string]>([
    ['no-file', () => join(folder, 'nowhere'), 'There is no file'],
    ['a-folder', () => folder, 'is a folder'],
    ['a-device', () => '/dev/null', 'cannot be read twice'],
    ['an-empty-file', () => join(folder, 'empty'), 'has no lines'],
  ])('%s', async (_, path, said) => {
    writeFileSync(join(folder, 'empty'), '');
    const { code, err } = await runWords(['baremetal', 'nodes', 'import', path(), '--server', 'http://127.0.0.1:1']);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });
});
