// How every message begins and ends, and how a byte stream is split into messages.
import { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { HEADER_BYTES, MESSAGE_BYTES_MAX, VERSION } from './message-codes.ts';
import { BadFlowText, ProtocolError } from './errors.ts';

/** Returns the offset where it began. */
export function beginMessage(writer: BytesWriter, type: number, xid: number): number {
  const start = writer.length;
  writer.u8(VERSION);
  writer.u8(type);
  writer.u16(0);
  writer.u32(xid);
  return start;
}

export function endMessage(writer: BytesWriter, start: number): void {
  const length = writer.length - start;
  if (length > MESSAGE_BYTES_MAX) throw new BadFlowText(`a message of ${length} bytes is too long`);
  writer.patch16(start + 2, length);
}

export interface OpenFlowMessage {
  readonly version: number;
  readonly type: number;
  readonly xid: number;
  readonly body: BytesReader;
}

/** Splits incoming bytes into messages. Keeps at most one incomplete message. */
export class MessageFramer {
  #kept: Uint8Array = new Uint8Array();

  /** The complete messages. Their bodies are views of `chunk`. */
  push(chunk: Uint8Array): OpenFlowMessage[] {
    // As a plain Uint8Array: slicing a Buffer does not copy.
    const plain = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = this.#kept.length === 0 ? plain : concat(this.#kept, plain);
    const messages: OpenFlowMessage[] = [];
    let at = 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const reader = new BytesReader(bytes, at);
      const [version, type, length, xid] = [reader.u8(), reader.u8(), reader.u16(), reader.u32()];
      if (length < HEADER_BYTES) throw new ProtocolError(`a message of ${length} bytes`);
      if (bytes.length - at < length) break;
      messages.push({ version, type, xid, body: reader.sub(length - HEADER_BYTES) });
      at += length;
    }
    this.#kept = bytes.slice(at);
    return messages;
  }
}

function concat(one: Uint8Array, other: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}
