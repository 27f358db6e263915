// Field values between text and bytes, with and without masks. A hexadecimal number is written as `0` when it is zero, as switches do.
import { readIpv4, readIpv6, readMac, putIpv4, putIpv6, putMac } from './addresses.ts';
import type { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { ctStateText, putCtState } from './ct-state.ts';
import type { OxmField } from './fields.ts';
import { longPort, portNumber, portText, shortPort, type PortNames } from './ports.ts';
import { BadFlowText } from './errors.ts';

function putValue(writer: BytesWriter, field: OxmField, text: string, names: PortNames): void {
  switch (field.kind) {
    case 'hex':
    case 'decimal':
      return putNumber(writer, field.bytes, text);
    case 'mac':
      return putMac(writer, text);
    case 'ipv4':
      return putIpv4(writer, text);
    case 'ipv6':
      return putIpv6(writer, text);
    case 'port':
      return field.bytes === 2 ? writer.u16(shortPort(portNumber(text, names))) : writer.u32(portNumber(text, names));
    case 'ct-state':
      throw new BadFlowText(`${field.word} can only be matched, with + and -`);
  }
}

/** Value and mask: `10.0.0.0/8`, `0x1/0xff`, `01:00:00:00:00:00/01:00:00:00:00:00`. Returns whether there is a mask. */
export function putMasked(writer: BytesWriter, field: OxmField, text: string, names: PortNames): boolean {
  if (field.kind === 'ct-state') {
    putCtState(writer, text);
    return true;
  }
  const slash = text.indexOf('/');
  if (slash === -1) {
    putValue(writer, field, text, names);
    return false;
  }
  const start = writer.length;
  const mask = text.slice(slash + 1);
  putValue(writer, field, text.slice(0, slash), names);
  if (isAddress(field) && isPrefix(mask)) putPrefix(writer, field, Number(mask));
  else putValue(writer, field, mask, names);
  if (!isCovered(writer.bytes, start, field.bytes)) {
    throw new BadFlowText(`${field.word}=${text} has bits outside its mask`);
  }
  return true;
}

const isAddress = ({ kind }: OxmField): boolean => kind === 'ipv4' || kind === 'ipv6';
const isPrefix = (mask: string): boolean => mask.length <= 3 && !mask.includes(':');

function putPrefix(writer: BytesWriter, { bytes, word }: OxmField, bits: number): void {
  if (!Number.isInteger(bits) || bits < 1 || bits >= bytes * 8) {
    throw new BadFlowText(`a prefix of ${word} has 1 to ${bytes * 8 - 1} bits, not ${bits}`);
  }
  for (let at = 0; at < bytes; at += 1) {
    const ones = Math.min(8, Math.max(0, bits - at * 8));
    writer.u8(0xff & (0xff << (8 - ones)));
  }
}

/** A switch clears bits that the mask does not cover, and the flow would not be read back as it was added. */
function isCovered(bytes: Uint8Array, start: number, length: number): boolean {
  for (let at = start; at < start + length; at += 1) {
    if (((bytes[at] ?? 0) & ~(bytes[at + length] ?? 0)) !== 0) return false;
  }
  return true;
}

const WORD = 0x1_0000_0000;
const NUMBER = /^(?:0x[0-9a-f]+|\d+)$/i;

/** `0x` and hexadecimal digits, or decimal digits, in this many bytes. */
export function putNumber(writer: BytesWriter, bytes: number, text: string): void {
  const value = NUMBER.test(text) ? Number(text) : -1;
  if (value < 0 || value > 2 ** (bytes * 8)) throw new BadFlowText(`"${text}" is not a number of ${bytes} bytes`);
  // Beyond 53 bits a number would be rounded.
  if (value > Number.MAX_SAFE_INTEGER) return putBig(writer, bytes, text);
  if (bytes < 8 && value === 2 ** (bytes * 8)) throw new BadFlowText(`"${text}" is not a number of ${bytes} bytes`);
  if (bytes === 1) writer.u8(value);
  else if (bytes === 2) writer.u16(value);
  else if (bytes === 4) writer.u32(value);
  else {
    writer.u32(Math.floor(value / WORD));
    writer.u32(value % WORD);
  }
}

function putBig(writer: BytesWriter, bytes: number, text: string): void {
  const value = BigInt(text);
  if (bytes !== 8 || value >> 64n > 0n) throw new BadFlowText(`"${text}" is not a number of ${bytes} bytes`);
  writer.u32(Number(value >> 32n));
  writer.u32(Number(value & 0xffff_ffffn));
}

export function valueText(reader: BytesReader, field: OxmField, names: PortNames): string {
  switch (field.kind) {
    case 'hex':
      return hexText(reader, field.bytes);
    case 'decimal':
      return `${field.bytes === 1 ? reader.u8() : field.bytes === 2 ? reader.u16() : reader.u32()}`;
    case 'mac':
      return readMac(reader);
    case 'ipv4':
      return readIpv4(reader);
    case 'ipv6':
      return readIpv6(reader);
    case 'port':
      return portText(field.bytes === 2 ? longPort(reader.u16()) : reader.u32(), names);
    case 'ct-state':
      return hexText(reader, field.bytes);
  }
}

export function maskedText(reader: BytesReader, field: OxmField, names: PortNames): string {
  if (field.kind === 'ct-state') return ctStateText(reader.u32(), reader.u32());
  if (field.kind === 'decimal') return `${hexText(reader, field.bytes)}/${hexText(reader, field.bytes)}`;
  const value = valueText(reader, field, names);
  const mask = reader.sub(field.bytes);
  const prefix = isAddress(field) ? prefixOf(mask) : undefined;
  if (prefix !== undefined) return `${value}/${prefix}`;
  return `${value}/${valueText(mask, field, names)}`;
}

export function hexText(reader: BytesReader, bytes: number): string {
  const digits = reader.hex(bytes).replace(/^0+/, '');
  return digits === '' ? '0' : `0x${digits}`;
}

/** How many ones a mask begins with, if only zeros follow. */
function prefixOf(mask: BytesReader): number | undefined {
  let [bits, ended] = [0, false];
  for (let at = mask.at; at < mask.end; at += 1) {
    const byte = mask.bytes[at] ?? 0;
    const ones = Math.clz32(~(byte << 24));
    if ((ended && byte !== 0) || ((byte << ones) & 0xff) !== 0) return undefined;
    ended ||= ones < 8;
    bits += Math.min(8, ones);
  }
  return bits;
}
