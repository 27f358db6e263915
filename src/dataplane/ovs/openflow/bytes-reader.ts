// Reads bytes in network order within bounds. A length that the peer sends is checked before it is used.
import { ProtocolError } from './errors.ts';

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export class BytesReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length, view?: DataView) {
    this.bytes = bytes;
    this.at = from;
    this.end = to;
    this.#view = view ?? new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.end - this.at;
  }

  u8(): number {
    return this.#view.getUint8(this.#step(1));
  }

  u16(): number {
    return this.#view.getUint16(this.#step(2));
  }

  u32(): number {
    return this.#view.getUint32(this.#step(4));
  }

  skip(count: number): void {
    this.#step(count);
  }

  /** A reader for the next `count` bytes; this reader continues behind them. */
  sub(count: number): BytesReader {
    const from = this.#step(count);
    return new BytesReader(this.bytes, from, from + count, this.#view);
  }

  rest(): Uint8Array {
    const from = this.#step(this.left);
    return this.bytes.subarray(from, this.end);
  }

  hex(count: number): string {
    const from = this.#step(count);
    let text = '';
    for (let at = from; at < from + count; at += 1) text += HEX[this.bytes[at] ?? 0] ?? '';
    return text;
  }

  #step(count: number): number {
    const from = this.at;
    if (count < 0 || count > this.end - from) {
      throw new ProtocolError(`the message ends ${count - (this.end - from)} bytes too early`);
    }
    this.at = from + count;
    return from;
  }
}
