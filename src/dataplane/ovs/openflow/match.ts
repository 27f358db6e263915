// The match of a flow between text and wire. The text begins with the protocol, followed by the fields in the order of their table; what is
// read is written in that order, too, so that texts can be compared.
import { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { fieldByCode, fieldByWord, type OxmField } from './fields.ts';
import type { PortNames } from './ports.ts';
import { split } from './split.ts';
import { BadFlowText, ProtocolError } from './errors.ts';
import { maskedText, putMasked, valueText } from './values.ts';

interface Protocol {
  readonly word: string;
  readonly ethernet: number;
  readonly ip?: number;
}

const PROTOCOLS: readonly Protocol[] = [
  { word: 'ip', ethernet: 0x0800 },
  { word: 'ipv6', ethernet: 0x86dd },
  { word: 'arp', ethernet: 0x0806 },
  { word: 'tcp', ethernet: 0x0800, ip: 6 },
  { word: 'udp', ethernet: 0x0800, ip: 17 },
  { word: 'sctp', ethernet: 0x0800, ip: 132 },
  { word: 'icmp', ethernet: 0x0800, ip: 1 },
  { word: 'tcp6', ethernet: 0x86dd, ip: 6 },
  { word: 'udp6', ethernet: 0x86dd, ip: 17 },
  { word: 'sctp6', ethernet: 0x86dd, ip: 132 },
  { word: 'icmp6', ethernet: 0x86dd, ip: 58 },
];
const BY_WORD = new Map(PROTOCOLS.map((protocol) => [protocol.word, protocol]));
const protocolKey = (ethernet: number, ip: number | undefined): number => ethernet * 512 + (ip ?? 256);
const WORDS = new Map(PROTOCOLS.map(({ word, ethernet, ip }) => [protocolKey(ethernet, ip), word]));

const ETHERNET_CODE = 0x8000 * 128 + 5;
const IP_CODE = 0x8000 * 128 + 10;
const STANDARD_MATCH = 1;

/** The whole structure, with its padding. */
export function putMatch(writer: BytesWriter, text: string, names: PortNames): void {
  const start = writer.length;
  writer.u16(STANDARD_MATCH);
  writer.u16(0);
  let protocol: number | undefined;
  if (text !== '') {
    // Only a quoted name can contain a comma.
    for (const piece of text.includes('"') ? split(text, text) : text.split(',')) {
      const equals = piece.indexOf('=');
      if (equals === -1) protocol = putProtocol(writer, piece);
      else {
        const field = fieldByWord(piece.slice(0, equals), protocol);
        if (field === undefined) throw new BadFlowText(`a match cannot say "${piece}" here: "${text}"`);
        putField(writer, field, { text: piece.slice(equals + 1), names });
      }
    }
  }
  writer.patch16(start + 2, writer.length - start);
  writer.align(start);
}

function putProtocol(writer: BytesWriter, word: string): number | undefined {
  const protocol = BY_WORD.get(word);
  if (protocol === undefined) throw new BadFlowText(`"${word}" is not a protocol that a match can name`);
  putHeader(writer, ETHERNET_CODE, 2);
  writer.u16(protocol.ethernet);
  if (protocol.ip === undefined) return undefined;
  putHeader(writer, IP_CODE, 1);
  writer.u8(protocol.ip);
  return protocol.ip;
}

/** Class, number, whether there is a mask, and the length of what follows. */
export function putHeader(writer: BytesWriter, code: number, bytes: number): void {
  writer.u16(code >>> 7);
  writer.u8((code & 127) << 1);
  writer.u8(bytes);
}

function putField(writer: BytesWriter, field: OxmField, value: { text: string; names: PortNames }): void {
  const start = writer.length;
  putHeader(writer, field.code, field.bytes);
  if (!putMasked(writer, field, value.text, value.names)) return;
  writer.bytes[start + 2] = ((field.code & 127) << 1) | 1;
  writer.bytes[start + 3] = field.bytes * 2;
}

interface OxmText {
  readonly place: number;
  readonly text: string;
}

/** Reads the whole structure, with its padding. */
export function matchText(reader: BytesReader, names: PortNames): string {
  const { ethernet, ip, texts } = readFields(reader, names);
  const protocol = ethernet === undefined ? undefined : WORDS.get(protocolKey(ethernet, ip));
  const words: string[] = [];
  if (protocol !== undefined) words.push(protocol);
  else words.push(...unnamedProtocol(ethernet, ip));
  if (texts.length > 1) texts.sort((one, other) => one.place - other.place);
  for (const { text } of texts) words.push(text);
  return words.join(',');
}

/** A protocol without a keyword of its own. */
function unnamedProtocol(ethernet: number | undefined, ip: number | undefined): string[] {
  if (ethernet === undefined) return ip === undefined ? [] : [`nw_proto=${ip}`];
  const word = WORDS.get(protocolKey(ethernet, undefined)) ?? `dl_type=0x${ethernet.toString(16).padStart(4, '0')}`;
  return ip === undefined ? [word] : [word, `nw_proto=${ip}`];
}

interface Fields {
  readonly ethernet: number | undefined;
  readonly ip: number | undefined;
  readonly texts: OxmText[];
}

function readFields(reader: BytesReader, names: PortNames): Fields {
  const [type, length] = [reader.u16(), reader.u16()];
  if (type !== STANDARD_MATCH || length < 4) throw new ProtocolError(`a match of type ${type} and length ${length}`);
  const fields = reader.sub(length - 4);
  reader.skip((8 - (length % 8)) % 8);
  const texts: OxmText[] = [];
  let [ethernet, ip]: (number | undefined)[] = [];
  while (fields.left > 0) {
    const start = fields.at;
    const entry = readEntry(fields);
    if (entry.code === ETHERNET_CODE && entry.plain) ethernet = entry.value.u16();
    else if (entry.code === IP_CODE && entry.plain) ip = entry.value.u8();
    else texts.push(oxmText(entry, { names, whole: () => hexOf(fields, start) }));
  }
  return { ethernet, ip, texts };
}

export interface MatchEntry {
  readonly code: number;
  readonly field: OxmField | undefined;
  readonly masked: boolean;
  /** With the length of its field, and without a mask. */
  readonly plain: boolean;
  readonly value: BytesReader;
}

export function readEntry(reader: BytesReader): MatchEntry {
  const [of, rest, length] = [reader.u16(), reader.u8(), reader.u8()];
  const [code, masked] = [of * 128 + (rest >> 1), (rest & 1) === 1];
  const field = fieldByCode(code);
  return { code, field, masked, plain: !masked && field?.bytes === length, value: reader.sub(length) };
}

function oxmText(entry: MatchEntry, how: { readonly names: PortNames; readonly whole: () => string }): OxmText {
  const { field, masked, plain, value } = entry;
  const fits = plain || (masked && value.left === (field?.bytes ?? 0) * 2);
  if (field === undefined || field.word === '' || !fits) {
    return { place: Infinity, text: `unknown(${how.whole()})` };
  }
  const text = masked ? maskedText(value, field, how.names) : valueText(value, field, how.names);
  return { place: field.place, text: `${field.word}=${text}` };
}

function hexOf(reader: BytesReader, start: number): string {
  return new BytesReader(reader.bytes, start, reader.at).hex(reader.at - start);
}
