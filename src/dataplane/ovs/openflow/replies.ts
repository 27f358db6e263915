// Decodes the replies and notifications of a switch.
import { matchText } from './match.ts';
import type { BytesReader } from './bytes-reader.ts';
import { VERSION } from './message-codes.ts';
import type { PortNames } from './ports.ts';
import { ProtocolError } from './errors.ts';

export interface OpenFlowPort {
  readonly number: number;
  readonly name: string;
  readonly mac: string;
  /** It is administratively down, or its link is down. */
  readonly down: boolean;
}

export interface PacketIn {
  readonly table: number;
  readonly reason: number;
  /** Of the flow that sent it. */
  readonly cookie: string;
  /** The metadata of the packet, such as `in_port="vm1",tun_id=0x5,metadata=0x7`. */
  readonly match: string;
  readonly data: Uint8Array;
}

const HELLO_VERSIONS = 1;
const PORT_DOWN = 1;
const LINK_DOWN = 1;
const MORE = 1;

/** Whether the peer's hello message allows version 1.4. */
export function hasCommonVersion(version: number, body: BytesReader): boolean {
  while (body.left >= 4) {
    const [type, length] = [body.u16(), body.u16()];
    if (length < 4) throw new ProtocolError(`a greeting with an element of ${length} bytes`);
    const element = body.sub(length - 4);
    if (type === HELLO_VERSIONS) return element.left >= 4 && ((element.u32() >> VERSION) & 1) === 1;
    body.skip(Math.min(body.left, (8 - (length % 8)) % 8));
  }
  return version >= VERSION;
}

export interface ReplyPart {
  readonly type: number;
  readonly more: boolean;
}

/** Reads the header of one part of a multipart reply. */
export function readPart(body: BytesReader): ReplyPart {
  const [type, flags] = [body.u16(), body.u16()];
  body.skip(4);
  return { type, more: (flags & MORE) === MORE };
}

export function readPort(reader: BytesReader): OpenFlowPort {
  const [number, length] = [reader.u32(), reader.u16()];
  if (length < 40) throw new ProtocolError(`a port of ${length} bytes`);
  const entry = reader.sub(length - 6);
  entry.skip(2);
  const mac = (entry.hex(6).match(/../g) ?? []).join(':');
  entry.skip(2);
  const name = nameOf(entry.sub(16));
  const down = (entry.u32() & PORT_DOWN) !== 0 || (entry.u32() & LINK_DOWN) !== 0;
  return { number, name, mac, down };
}

function nameOf(reader: BytesReader): string {
  const bytes = reader.rest();
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end));
}

/** The bytes of the packet are copied: they may be kept. */
export function readPacketIn(body: BytesReader, names: PortNames): PacketIn {
  body.skip(6);
  const [reason, table, cookie] = [body.u8(), body.u8(), body.hex(8)];
  const match = matchText(body, names);
  body.skip(2);
  return { table, reason, cookie, match, data: body.rest().slice() };
}
