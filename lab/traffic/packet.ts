// The datagrams of the traffic: a kind, the flow and the number of the packet in it, and for a greeting how often to answer.

export type PacketKind = 'echo' | 'warm-up' | 'greeting' | 'push';

export interface Packet {
  readonly kind: PacketKind;
  readonly flow: number;
  readonly sequence: number;
  /** Of a greeting: between two pushes. */
  readonly everyMs: number;
}

const MAGIC = 0x4d55;
const KINDS: readonly PacketKind[] = ['echo', 'warm-up', 'greeting', 'push'];
/** Small, as most of what delay hurts is: voice, games, names. */
const BYTES = 64;

export function encodePacket({ kind, flow, sequence, everyMs }: Packet): Buffer {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeUInt16BE(MAGIC, 0);
  bytes.writeUInt8(KINDS.indexOf(kind), 2);
  bytes.writeUInt32BE(flow, 4);
  bytes.writeUInt32BE(sequence, 8);
  bytes.writeDoubleBE(everyMs, 12);
  return bytes;
}

/** Undefined for what is not ours. */
export function decodePacket(bytes: Buffer): Packet | undefined {
  if (bytes.length !== BYTES || bytes.readUInt16BE(0) !== MAGIC) return undefined;
  const kind = KINDS[bytes.readUInt8(2)];
  if (kind === undefined) return undefined;
  return { kind, flow: bytes.readUInt32BE(4), sequence: bytes.readUInt32BE(8), everyMs: bytes.readDoubleBE(12) };
}
