// The connection tracking state of a packet in a match: `+est+trk` requires bits that are set, `-inv` one that is not.
import type { BytesWriter } from './bytes-writer.ts';
import { BadFlowText } from './errors.ts';

/** In the order of their bits, which is also the order in the text. */
const FLAGS = ['new', 'est', 'rel', 'rpl', 'inv', 'trk', 'snat', 'dnat'] as const;

export function putCtState(writer: BytesWriter, text: string): void {
  let [value, mask] = [0, 0];
  for (let at = 0; at < text.length;) {
    const end = nextSign(text, at + 1);
    const bit = FLAGS.indexOf(text.slice(at + 1, end) as (typeof FLAGS)[number]);
    const sign = text[at];
    if (bit === -1 || (sign !== '+' && sign !== '-')) throw new BadFlowText(`"${text}" is not a ct_state`);
    mask |= 1 << bit;
    if (sign === '+') value |= 1 << bit;
    at = end;
  }
  if (mask === 0) throw new BadFlowText('ct_state asks for nothing');
  writer.u32(value);
  writer.u32(mask);
}

function nextSign(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (text[at] === '+' || text[at] === '-') return at;
  return text.length;
}

export function ctStateText(value: number, mask: number): string {
  const known = (1 << FLAGS.length) - 1;
  if (mask === 0 || (mask & ~known) !== 0) return `0x${value.toString(16)}/0x${mask.toString(16)}`;
  return FLAGS.map((flag, bit) => ((mask >> bit) & 1 ? `${(value >> bit) & 1 ? '+' : '-'}${flag}` : '')).join('');
}
