// The last of what a machine wrote, however its pieces come.
import { describe, expect, test } from 'vitest';
import { SecretMask } from '../../../access/index.ts';
import { LOG_BYTES_MAX } from '../reach.ts';
import { escapeControls, OutputTail } from './output-tail.ts';

const SECRET = 'abcdefgh12345678';

function tailOf(...pieces: readonly (string | Uint8Array)[]) {
  const mask = new SecretMask();
  mask.add(SECRET);
  const tail = new OutputTail(mask);
  for (const piece of pieces) tail.append(typeof piece === 'string' ? Buffer.from(piece) : piece);
  return tail.render();
}

describe('secrets are taken out', () => {
  test('wherever they are cut into pieces', () => {
    const text = `token ${SECRET} end`;
    for (let at = 0; at <= text.length; at += 1)
      expect(tailOf(text.slice(0, at), text.slice(at))).toEqual({ text: 'token [secret] end', isCut: false });
    expect(tailOf(...text.split('')).text).toBe('token [secret] end');
  });

  test('wherever the beginning of the output is cut off', () => {
    // The cut goes through each of its characters once: when what is not kept is dropped, and when the rest is shown.
    for (const dropped of [0, 256 * 1024]) {
      for (let nth = 0; nth < SECRET.length + 60; nth += 1) {
        const { text, isCut } = tailOf('x'.repeat(dropped + 100), SECRET, 'y'.repeat(LOG_BYTES_MAX - nth));
        expect(isCut).toBe(true);
        for (let from = 0; from + 4 <= SECRET.length; from += 1)
          expect(text.includes(SECRET.slice(from, from + 4))).toBe(false);
      }
    }
  });

  test('that stand side by side over a cut', () => {
    // With some of these the last of them is when the others are dropped.
    for (let count = 17_405; count < 17_415; count += 1) {
      const { text } = tailOf(...Array.from({ length: count }, () => SECRET));
      expect(text.replaceAll('[secret]', '')).toHaveLength(text.length % '[secret]'.length);
    }
  });
});

describe('what is kept is bounded', () => {
  test('by bytes, at whole characters', () => {
    const { text, isCut } = tailOf('€'.repeat(LOG_BYTES_MAX));
    expect(isCut).toBe(true);
    expect(text).toMatch(/^€+$/);
    expect(Buffer.byteLength(text)).toBeGreaterThan(LOG_BYTES_MAX - 3);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LOG_BYTES_MAX);
  });

  test('also as JSON, of whatever bytes it is', () => {
    const DOCUMENT_MAX = 64 * 1024;
    for (const byte of [0, 7, 0x1b, 0x22, 0x5c, 0x0a, 0x80, 0xff]) {
      const { text } = tailOf(Buffer.alloc(300_000, byte), Buffer.from('end'));
      expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(DOCUMENT_MAX - 1024);
      expect(text.endsWith('end')).toBe(true);
    }
  });

  test('a character whose bytes come in pieces is whole', () => {
    const bytes = Buffer.from('ü€');
    expect(tailOf(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual({ text: 'ü€', isCut: false });
  });
});

test.each([
  ['a colour', '\u001b[31mred', String.raw`\u001b[31mred`],
  ['a bell', 'a\u0007', String.raw`a\u0007`],
  ['a C1 control', 'a\u009b1m', String.raw`a\u009b1m`],
  ['a line that is turned round', 'a\u202eb', String.raw`a\u202eb`],
  ['progress', '10%\r20%\r\n', '10%\n20%\n'],
  ['tabs and lines', 'a\tb\n', 'a\tb\n'],
])('%s is shown, and not obeyed', (_name, text, shown) => {
  expect(escapeControls(text)).toBe(shown);
});
