// Writes bytes in network order into one buffer that grows and is reused.

export class BytesWriter {
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;
  #view: DataView;

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.bytes.buffer);
  }

  u8(value: number): void {
    this.#room(1);
    this.bytes[this.length] = value;
    this.length += 1;
  }

  u16(value: number): void {
    this.#room(2);
    this.#view.setUint16(this.length, value);
    this.length += 2;
  }

  u32(value: number): void {
    this.#room(4);
    this.#view.setUint32(this.length, value);
    this.length += 4;
  }

  zeros(count: number): void {
    this.#room(count);
    const end = this.length + count;
    // Few bytes are faster one by one than by a call.
    for (let at = this.length; at < end; at += 1) this.bytes[at] = 0;
    this.length = end;
  }

  put(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Zeros, until the length since `start` is a multiple of 8. */
  align(start: number): void {
    const over = (this.length - start) % 8;
    if (over > 0) this.zeros(8 - over);
  }

  /** Lengths are known only when everything is written. */
  patch16(at: number, value: number): void {
    this.#view.setUint16(at, value);
  }

  /** A copy of what was written from `start` on. */
  copy(start = 0): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(start, this.length);
  }

  #room(count: number): void {
    const wanted = this.length + count;
    if (wanted <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(wanted, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}
