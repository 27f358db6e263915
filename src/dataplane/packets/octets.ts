// Octets of packets: concatenate, view, compare. Decoders check lengths before they read octets.

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The same octets as numbers; the view ends where they end, whatever lies behind them in memory. */
export function toDataView(octets: Uint8Array): DataView {
  return new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
}

export function u16(value: number): Uint8Array {
  return Uint8Array.of((value >>> 8) & 255, value & 255);
}

export function u32(value: number): Uint8Array {
  return Uint8Array.of((value >>> 24) & 255, (value >>> 16) & 255, (value >>> 8) & 255, value & 255);
}
