// Encodes requests, the hello message, and frames of other messages.
import type { BytesWriter } from './bytes-writer.ts';
import { MESSAGE, MULTIPART, VERSION } from './message-codes.ts';
import { beginMessage, endMessage } from './message-frame.ts';
import { ANY } from './ports.ts';

const VERSION_BITMAP = 1;
const ALL_TABLES = 0xff;
const NO_BUFFER_LENGTH = 0xffff;
const ATOMIC_AND_ORDERED = 3;

/** Offers version 1.4 only. */
export function putHello(writer: BytesWriter, xid: number): void {
  const start = beginMessage(writer, MESSAGE.hello, xid);
  writer.u16(VERSION_BITMAP);
  writer.u16(8);
  writer.u32(1 << VERSION);
  endMessage(writer, start);
}

export function putEcho(writer: BytesWriter, xid: number, answered?: Uint8Array): void {
  const start = beginMessage(writer, answered === undefined ? MESSAGE.echoRequest : MESSAGE.echoReply, xid);
  if (answered !== undefined) writer.put(answered);
  endMessage(writer, start);
}

/** Until this is sent, a management connection gets no packets. */
export function putEnablePacketIns(writer: BytesWriter, xid: number): void {
  const start = beginMessage(writer, MESSAGE.setConfig, xid);
  writer.u16(0);
  writer.u16(NO_BUFFER_LENGTH);
  endMessage(writer, start);
}

export function putBarrier(writer: BytesWriter, xid: number): void {
  endMessage(writer, beginMessage(writer, MESSAGE.barrierRequest, xid));
}

export function putMultipart(writer: BytesWriter, xid: number, kind: keyof typeof MULTIPART): void {
  const start = beginMessage(writer, MESSAGE.multipartRequest, xid);
  writer.u16(MULTIPART[kind]);
  writer.zeros(6);
  if (kind === 'flows') putAllFlows(writer);
  endMessage(writer, start);
}

function putAllFlows(writer: BytesWriter): void {
  writer.u8(ALL_TABLES);
  writer.zeros(3);
  writer.u32(ANY); // out port
  writer.u32(ANY); // out group
  writer.zeros(4);
  writer.zeros(16); // cookie, mask
  writer.u16(1); // a match of everything
  writer.u16(4);
  writer.zeros(4);
}

export interface BundleRef {
  readonly xid: number;
  readonly bundle: number;
}

export function putBundleControl(writer: BytesWriter, { xid, bundle }: BundleRef, type: number): void {
  const start = beginMessage(writer, MESSAGE.bundleControl, xid);
  writer.u32(bundle);
  writer.u16(type);
  writer.u16(ATOMIC_AND_ORDERED);
  endMessage(writer, start);
}

/** Wraps the message that `put` writes; both need the same transaction id. */
export function putBundled(writer: BytesWriter, { xid, bundle }: BundleRef, put: () => void): void {
  const start = beginMessage(writer, MESSAGE.bundleAdd, xid);
  writer.u32(bundle);
  writer.u16(0);
  writer.u16(ATOMIC_AND_ORDERED);
  put();
  endMessage(writer, start);
}
