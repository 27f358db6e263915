// Finds the messages in a stream of bytes: JSON objects one after the other, with nothing between them. Only braces and
// strings are looked at; the rest is left to the parser. It holds at most one message, and never more than the limit.
import { MalformedMessage, MessageTooLarge } from './failures.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;

export class JsonStream {
  readonly #bytesMax: number;
  /** The beginning of a message that is not complete; it grows by doubling, so that tiny chunks cost no more than large ones. */
  #held = new Uint8Array(0);
  /** How much of `#held` is used. */
  #bytes = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** How much of a message that is not complete is held. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /**
   * The messages that are complete with this chunk, one by one. Throws `MalformedMessage` or `MessageTooLarge`; after that the
   * stream cannot be read any further.
   */
  *push(chunk: Uint8Array): Generator<object> {
    let from = 0; // where the message begins, or continues
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (this.#inString) this.#readInString(byte);
      else if (byte === QUOTE && this.#depth > 0) this.#inString = true;
      else if (byte === OPEN) {
        if (this.#depth === 0) from = at;
        this.#depth += 1;
      } else if (byte === CLOSE && this.#depth > 0) {
        this.#depth -= 1;
        if (this.#depth > 0) continue;
        yield this.#take(chunk.subarray(from, at + 1));
      } else if (this.#depth === 0 && !isSpace(byte)) throw new MalformedMessage(`a message begins with ${show(byte)}`);
    }
    if (this.#depth > 0) this.#hold(chunk.subarray(from));
  }

  #readInString(byte: number | undefined): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  /** The message that ends here. */
  #take(end: Uint8Array): object {
    this.#check(end.length);
    if (this.#bytes === 0) return parse(end);
    this.#hold(end);
    const message = parse(this.#held.subarray(0, this.#bytes));
    this.#held = new Uint8Array(0);
    this.#bytes = 0;
    return message;
  }

  #hold(part: Uint8Array): void {
    this.#check(part.length);
    const bytes = this.#bytes + part.length;
    if (bytes > this.#held.length) {
      const larger = new Uint8Array(Math.min(this.#bytesMax, Math.max(bytes, 2 * this.#held.length)));
      larger.set(this.#held.subarray(0, this.#bytes));
      this.#held = larger;
    }
    this.#held.set(part, this.#bytes);
    this.#bytes = bytes;
  }

  #check(more: number): void {
    if (this.#bytes + more <= this.#bytesMax) return;
    throw new MessageTooLarge(`the daemon sent a message of more than ${this.#bytesMax} bytes`);
  }
}

function parse(bytes: Uint8Array): object {
  const text = decode(bytes);
  try {
    // It begins with a brace and ends with its counterpart: it is an object or no JSON.
    return JSON.parse(text) as object;
  } catch (cause) {
    throw new MalformedMessage(`a message is not JSON: ${text.slice(0, 200)}`, { cause });
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new MalformedMessage('a message is not UTF-8', { cause });
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function show(byte: number | undefined): string {
  return `byte 0x${(byte ?? 0).toString(16).padStart(2, '0')} instead of a brace`;
}
