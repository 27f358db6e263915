// DER, as far as agent certificates need it: written in one fixed form, and parsed so strictly that anything but plain DER is refused. Keys
// and signatures are left to OpenSSL.

/** Input that is not DER of the expected form. */
export class MalformedDer extends Error {
  readonly code = 'malformed-der';
  readonly retryable = false;

  constructor(message: string) {
    super(message);
    this.name = 'MalformedDer';
  }
}

export const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

const LONG_FORM = 0x80;
/** Two bytes of length are 64 KiB: more than any request or certificate that is read here. */
const LENGTH_BYTES_MAX = 2;

export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < LONG_FORM) return Buffer.from([length]);
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.from([LONG_FORM | bytes.length, ...bytes]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...parts);

/** A positive integer. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = first === -1 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  return der(TAG.integer, ((short[0] ?? 0) & LONG_FORM) === 0 ? short : Buffer.concat([Buffer.from([0]), short]));
}

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return der(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** Bits in whole bytes. */
export function bitString(bytes: Uint8Array): Buffer {
  return der(TAG.bitString, Buffer.from([0]), bytes);
}

const UTC_TIME_UNTIL = 2050;

export function time(atMs: number): Buffer {
  const at = new Date(atMs);
  const digits = at.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14);
  return at.getUTCFullYear() < UTC_TIME_UNTIL
    ? der(TAG.utcTime, Buffer.from(`${digits.slice(2)}Z`))
    : der(TAG.generalizedTime, Buffer.from(`${digits}Z`));
}

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** With tag and length, as received. */
  readonly whole: Buffer;
}

/** All elements of some bytes, in sequence, with nothing left over. */
export function elementsIn(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const element = elementAt(bytes, at);
    found.push(element);
    at += element.whole.length;
  }
  return found;
}

function elementAt(bytes: Buffer, at: number): Element {
  const [tag, first] = [bytes[at], bytes[at + 1]];
  if (tag === undefined || first === undefined) throw new MalformedDer('it ends within an element');
  const count = first < LONG_FORM ? 0 : first & ~LONG_FORM;
  if (first >= LONG_FORM && (count === 0 || count > LENGTH_BYTES_MAX))
    throw new MalformedDer('a length is out of range');
  let length = first < LONG_FORM ? first : 0;
  for (let nth = 0; nth < count; nth += 1) length = length * 0x100 + (bytes[at + 2 + nth] ?? 0);
  const start = at + 2 + count;
  if (start + length > bytes.length) throw new MalformedDer('it ends within an element');
  if (count > 0 && length < (count === 1 ? LONG_FORM : 0x100))
    throw new MalformedDer('a length is not in its shortest form');
  return { tag, content: bytes.subarray(start, start + length), whole: bytes.subarray(at, start + length) };
}
