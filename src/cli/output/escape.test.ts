import { describe, expect, test } from 'vitest';
import { controlSequence, escapeControls, toTerminal } from './escape.ts';

const codes = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);
const HARMFUL = [
  ...codes(0x00, 0x08),
  ...codes(0x0b, 0x1f),
  ...codes(0x7f, 0x9f),
  0x061c,
  ...codes(0x200e, 0x200f),
  ...codes(0x2028, 0x202e),
  ...codes(0x2066, 0x206f),
];

describe('control characters', () => {
  test.each(HARMFUL.map((code) => code.toString(16).padStart(4, '0')))('U+%s is escaped everywhere', (hex) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    const text = `a${character}b`;
    expect(escapeControls(text)).toBe(String.raw`a\u${hex}b`);
    expect(toTerminal(text)).toBe(String.raw`a\u${hex}b`);
    // A JSON text that goes through is the same value.
    expect(JSON.parse(toTerminal(JSON.stringify({ text })))).toEqual({ text });
  });

  test('text of all languages, tabs and new lines stay as they are', () => {
    const text = 'é 計算機 שלום سلام 👩‍🚀 a\tb\nc – “d”';
    expect(escapeControls(text)).toBe(text);
    expect(toTerminal(text)).toBe(text);
  });

  test('only sequences of this program become escape sequences', () => {
    expect(toTerminal(`${controlSequence('31m')}red${controlSequence('39m')}`)).toBe('\u001B[31mred\u001B[39m');
    expect(toTerminal('\u001B[31m\u0002guess:31m\u0003')).toBe(String.raw`\u001b[31m\u0002guess:31m\u0003`);
    // A mark that was seen cannot be changed into anything but a sequence.
    const torn = controlSequence('31m').replace('31m', '31m\u0007');
    expect(toTerminal(torn)).not.toMatch(/[\u0000-\u001F]/); // oxlint-disable-line no-control-regex
  });
});
