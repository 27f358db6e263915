// Lines are the same however their bytes are cut into chunks, and what is wrong is named by line and field.
import * as fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import type { BodyLine } from '../../access/index.ts';
import { compileChecker } from '../../fleet/index.ts';
import { readLines } from './body-lines.ts';

const check = compileChecker(
  Type.Object({ name: Type.String(), cpus: Type.Optional(Type.Integer()) }, { additionalProperties: false }),
);
const LIMITS = { countMax: 1000, bytesMax: 200 };

async function* chunksOf(...parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part;
}

const read = (...parts: readonly (string | Uint8Array)[]): Promise<readonly BodyLine[]> =>
  readLines(chunksOf(...parts), { limits: LIMITS, check });

/** What a body is refused with. */
async function refusal(...parts: readonly (string | Uint8Array)[]): Promise<Record<string, unknown>> {
  const problem = await read(...parts).then(
    () => {
      throw new Error('the body was accepted');
    },
    (error: unknown) => error as { status: number; body: (id: string) => Record<string, unknown> },
  );
  return { ...problem.body('rq'), status: problem.status };
}

describe('lines', () => {
  test.each<[string, string, BodyLine[]]>([
    ['with-an-end-each', '{"name":"a"}\n{"name":"b"}\n', [line(1, 'a'), line(2, 'b')]],
    ['the-last-without-an-end', '{"name":"a"}\n{"name":"b"}', [line(1, 'a'), line(2, 'b')]],
    ['of-another-system', '{"name":"a"}\r\n{"name":"b"}\r\n', [line(1, 'a'), line(2, 'b')]],
    ['empty-ones-count-and-are-left-out', '\n{"name":"a"}\n  \n{"name":"b"}\n\n', [line(2, 'a'), line(4, 'b')]],
    ['beyond-ascii', '{"name":"ü😀"}\n', [line(1, 'ü😀')]],
  ])('%s', async (_, text, expected) => {
    expect(await read(text)).toEqual(expected);
  });

  test('never: where a chunk ends makes a difference', async () => {
    const name = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((text) => !text.includes('\0'));
    const cuts = fc.array(fc.nat({ max: 500 }));
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 10 }), cuts, async (names, at) => {
        const bytes = Buffer.from(names.map((one) => `${JSON.stringify({ name: one })}\n`).join(''));
        const places = [...new Set([0, ...at.filter((one) => one < bytes.length), bytes.length])].sort((a, b) => a - b);
        const parts = places.slice(1).map((end, nth) => bytes.subarray(places[nth], end));
        expect(await read(...parts)).toEqual(names.map((one, nth) => line(nth + 1, one)));
      }),
    );
  });
});

describe('a bad line', () => {
  test.each<[string, (string | Uint8Array)[], object]>([
    [
      'no-json',
      ['{"name":"a"}\n{"name":\n'],
      {
        field: '/lines/2',
        line: 2,
        problems: [{ field: '/lines/2', message: expect.stringContaining('is not JSON') as unknown }],
      },
    ],
    ['an-unknown-field', ['{"name":"a","Name":1}'], { field: '/lines/1/Name', line: 1 }],
    ['a-wrong-type', ['\n{"name":"a","cpus":"8"}'], { field: '/lines/2/cpus', line: 2 }],
    ['a-missing-field', ['{}'], { field: '/lines/1/name', line: 1 }],
    ['a-field-twice', ['{"name":"a","name":"b"}'], { field: '/lines/1/name', line: 1 }],
    ['no-object', ['null'], { field: '/lines/1', line: 1 }],
    ['a-prototype', ['{"name":"a","__proto__":{}}'], { field: '/lines/1', line: 1 }],
    ['half-a-character', ['{"name":"\\ud800"}'], { field: '/lines/1', line: 1 }],
    [
      'not-utf-8',
      ['{"name":"a"}\n', Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a)],
      { field: '/lines/2', line: 2, problems: [{ field: '/lines/2', message: 'is not UTF-8' }] },
    ],
    ['a-byte-order-mark', ['\uFEFF{"name":"a"}\n'], { field: '/lines/1', line: 1 }],
    ['too-long', [`{"name":"${'x'.repeat(200)}"}\n{"name":"a"}`], { field: '/lines/1', line: 1 }],
    ['too-long-before-its-end-is-there', ['{"name":"a"}\n', `{"name":"${'x'.repeat(200)}`], { line: 2 }],
    ['nested-too-deep', ['['.repeat(40)], { field: '/lines/1', line: 1 }],
  ])('is-refused-by-its-number: %s', async (_, parts, expected) => {
    expect(await refusal(...parts)).toMatchObject({ status: 400, code: 'malformed-line', ...expected });
  });

  test('the-sentence-names-it-and-says-what-to-do', async () => {
    const { detail } = await refusal('{"name":"a"}\n{"nme":"b"}\n');
    expect(detail).toBe(
      'The body has lines that are not as this route wants them, and nothing was changed: line 2: /name is required; line 2: /nme is not a known field (did you mean "name"?). Correct them and send all lines again.',
    );
  });

  test('several-are-reported-at-once, up-to-ten, and-nothing-is-read-after-them', async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent += 1;
        yield Buffer.from('{}\n');
      }
    }
    const problem = (await readLines(endless(), { limits: LIMITS, check }).catch((error: unknown) => error)) as {
      body: (id: string) => { problems: unknown[] };
    };
    expect(problem.body('rq').problems).toHaveLength(10);
    expect(sent).toBe(10);
  });
});

describe('a body', () => {
  test.each<[string, string]>([
    ['empty', ''],
    ['of-empty-lines', '\n \n'],
  ])('%s-is-refused', async (_, text) => {
    expect(await refusal(text)).toMatchObject({ status: 400, code: 'malformed-body' });
  });

  test('of-too-many-lines-is-refused-at-the-first-too-many', async () => {
    const lines = '{"name":"a"}\n'.repeat(LIMITS.countMax);
    expect((await read(lines)).length).toBe(LIMITS.countMax);
    expect(await refusal(lines, '{"name":"a"}')).toMatchObject({ status: 413, code: 'too-many-lines' });
  });

  test('that-breaks-is-not-what-came-before', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"name":"a"}\n');
      throw new Error('cut');
    }
    await expect(readLines(broken(), { limits: LIMITS, check })).rejects.toThrow('cut');
  });
});

function line(nth: number, name: string): BodyLine {
  return { line: nth, value: { name } };
}
