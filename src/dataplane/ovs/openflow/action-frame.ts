// How every action begins and ends on the wire: its length is only known at the end.
import { ACTION, NICIRA } from './action-codes.ts';
import type { BytesWriter } from './bytes-writer.ts';

/** Returns the offset where it began. */
export function beginAction(writer: BytesWriter, type: number): number {
  const start = writer.length;
  writer.u16(type);
  writer.u16(0);
  return start;
}

export function beginNicira(writer: BytesWriter, subtype: number): number {
  const start = beginAction(writer, ACTION.experimenter);
  writer.u32(NICIRA);
  writer.u16(subtype);
  return start;
}

export function endAction(writer: BytesWriter, start: number): void {
  writer.align(start);
  writer.patch16(start + 2, writer.length - start);
}
