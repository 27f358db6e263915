// A range of bits of a field: `NXM_NX_REG0[]` is all of it, `NXM_NX_REG0[0..15]` a part, `NXM_NX_REG0[3]` one bit.
import { fieldByLongName, type OxmField } from './fields.ts';
import { BadFlowText } from './errors.ts';

export interface FieldBits {
  readonly field: OxmField;
  readonly from: number;
  readonly count: number;
}

const BITS = /^(\w+)\[(?:(\d+)(?:\.\.(\d+))?)?\]$/;

export function fieldBits(text: string): FieldBits {
  const [, name = '', first, last] = BITS.exec(text) ?? [];
  const field = fieldByLongName(name);
  if (field === undefined) throw new BadFlowText(`"${text}" is not a range of bits of a field`);
  const width = field.bytes * 8;
  const from = Number(first ?? 0);
  const to = first === undefined ? width - 1 : Number(last ?? first);
  if (to < from || to >= width) throw new BadFlowText(`${name} has no bits ${from} to ${to}`);
  return { field, from, count: to - from + 1 };
}

export function fieldBitsText({ field, from, count }: FieldBits): string {
  if (from === 0 && count === field.bytes * 8) return `${field.long}[]`;
  return count === 1 ? `${field.long}[${from}]` : `${field.long}[${from}..${from + count - 1}]`;
}
