// Addresses between text and bytes. Texts are in the form of the C library, as switches print them.
import type { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { BadFlowText } from './errors.ts';

const DOT = 46;
const COLON = 58;
const ZERO = 48;

/** The value of a hexadecimal digit; -1 for any other character. */
function digit(code: number): number {
  if (code >= ZERO && code <= 57) return code - ZERO;
  const letter = code | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

export function putIpv4(writer: BytesWriter, text: string): void {
  let [value, parts, now, digits] = [0, 0, 0, 0];
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? DOT : text.charCodeAt(at);
    if (code === DOT) {
      if (digits === 0 || now > 255) throw new BadFlowText(`"${text}" is not an IPv4 address`);
      value = value * 256 + now;
      parts += 1;
      [now, digits] = [0, 0];
    } else {
      if (code < ZERO || code > 57 || digits === 3) throw new BadFlowText(`"${text}" is not an IPv4 address`);
      now = now * 10 + code - ZERO;
      digits += 1;
    }
  }
  if (parts !== 4) throw new BadFlowText(`"${text}" is not an IPv4 address`);
  writer.u32(value);
}

export function readIpv4(reader: BytesReader): string {
  return `${reader.u8()}.${reader.u8()}.${reader.u8()}.${reader.u8()}`;
}

export function putMac(writer: BytesWriter, text: string): void {
  if (text.length !== 17) throw new BadFlowText(`"${text}" is not a hardware address`);
  for (let at = 0; at < 17; at += 3) {
    const [high, low] = [digit(text.charCodeAt(at)), digit(text.charCodeAt(at + 1))];
    if (high < 0 || low < 0 || (at < 15 && text.charCodeAt(at + 2) !== COLON)) {
      throw new BadFlowText(`"${text}" is not a hardware address`);
    }
    writer.u8(high * 16 + low);
  }
}

export function readMac(reader: BytesReader): string {
  const hex = reader.hex(6);
  let text = hex.slice(0, 2);
  for (let at = 2; at < 12; at += 2) text += `:${hex.slice(at, at + 2)}`;
  return text;
}

export function putIpv6(writer: BytesWriter, text: string): void {
  const gap = text.indexOf('::');
  const before = words(gap === -1 ? text : text.slice(0, gap), text);
  const after = gap === -1 ? [] : words(text.slice(gap + 2), text);
  const missing = 8 - before.length - after.length;
  if (gap === -1 ? missing !== 0 : missing < 1) throw new BadFlowText(`"${text}" is not an IPv6 address`);
  for (const word of before) writer.u16(word);
  writer.zeros(gap === -1 ? 0 : missing * 2);
  for (const word of after) writer.u16(word);
}

function words(part: string, whole: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((word, nth, all) => {
    if (nth === all.length - 1 && word.includes('.')) return quad(word, whole);
    let value = 0;
    for (let at = 0; at < word.length; at += 1) {
      const next = digit(word.charCodeAt(at));
      value = next < 0 ? 0x10000 : value * 16 + next;
    }
    if (word === '' || word.length > 4 || value > 0xffff) throw new BadFlowText(`"${whole}" is not an IPv6 address`);
    return [value];
  });
}

const isByte = (part: number): boolean => Number.isInteger(part) && part >= 0 && part <= 255;

/** The last four bytes may be written as an IPv4 address. */
function quad(text: string, whole: string): number[] {
  const parts = text.split('.').map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = parts;
  if (parts.length !== 4 || !parts.every(isByte)) throw new BadFlowText(`"${whole}" is not an IPv6 address`);
  return [a * 256 + b, c * 256 + d];
}

export function readIpv6(reader: BytesReader): string {
  const all = Array.from({ length: 8 }, () => reader.u16());
  const { from, length } = longestZeros(all);
  if (length < 2) return all.map(hex).join(':');
  const after = all.slice(from + length);
  if (from === 0 && (length === 6 || (length === 5 && all[5] === 0xffff))) {
    const [high = 0, low = 0] = all.slice(6);
    return `::${length === 5 ? 'ffff:' : ''}${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return `${all.slice(0, from).map(hex).join(':')}::${after.map(hex).join(':')}`;
}

const hex = (word: number): string => word.toString(16);

/** The first of the longest runs of zeros. */
function longestZeros(all: readonly number[]): { from: number; length: number } {
  let best = { from: 0, length: 0 };
  let length = 0;
  for (let at = 0; at < 8; at += 1) {
    length = all[at] === 0 ? length + 1 : 0;
    if (length > best.length) best = { from: at - length + 1, length };
  }
  return best;
}
