// Encodes actions from text to wire. These are the forms that a switch returns unchanged; flows are written in no other form, so that what
// is read back can be compared with what is desired.
//
// | form                                                        | what does not come back as it was put                               |
// | ----------------------------------------------------------- | ------------------------------------------------------------------- |
// | `drop`                                                      | stands alone: no action at all                                      |
// | `output:"name"`, `IN_PORT`, `LOCAL`, `CONTROLLER:65535`     | `output:LOCAL` is `LOCAL`                                           |
// | `resubmit(,N)`, `group:N`, `dec_ttl`, `ct_clear`            |                                                                     |
// | `set_field:V->FIELD`, hexadecimal for registers, metadata,  | `0x0` is `0`; leading zeros; a mask that is `load` in ovs-ofctl     |
// | tun_id; decimal for all other numbers                       | stays a mask here: `set_field:0x7/0xff->reg0`                       |
// | `move:A[]->B[]`, `move:A[0..15]->B[16..31]`                 | all bits of a field are `[]`                                        |
// | `load:0->NXM_OF_IN_PORT[]`, others in hexadecimal           | `load:2->...` is `load:0x2->...`                                    |
// | `ct(commit,force,table=N,zone=N,nat(...),exec(...),alg=X)`  | in this order; zone 0 is left out                                   |
// | `nat`, `nat(src=IP)`, `nat(src=IP:PORT)`,                   | `[IP]` without a port is `IP`                                       |
// | `nat(src=[IPV6]:PORT)`, ranges with `-`                     |                                                                     |
// | `controller(reason=R,max_len=N,id=N)`                       | what is usual is left out: action, 65535, 0                         |
import { ACTION, BY_ACTION, NICIRA_ACTION, REASONS, SHORT_IN_PORT, WHOLE_PACKET } from './action-codes.ts';
import { beginAction, beginNicira, endAction } from './action-frame.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { putCt } from './conntrack-to-wire.ts';
import { fieldBits } from './field-bits.ts';
import { fieldByName } from './fields.ts';
import { putHeader } from './match.ts';
import { CONTROLLER, isReserved, portNumber, shortPort, type PortNames } from './ports.ts';
import { split } from './split.ts';
import { BadFlowText } from './errors.ts';
import { putMasked, putNumber } from './values.ts';

type Put = (writer: BytesWriter, rest: string, names: PortNames) => void;

export function putActions(writer: BytesWriter, text: string, names: PortNames): void {
  if (text === 'drop') return;
  for (const piece of split(text, text)) putAction(writer, piece, names);
}

function putAction(writer: BytesWriter, piece: string, names: PortNames): void {
  const end = headEnd(piece);
  const put = PUTS.get(piece.slice(0, end));
  if (put !== undefined) put(writer, piece.slice(end), names);
  else if (end === piece.length && isReserved(piece)) putOutput(writer, portNumber(piece, names), 0);
  else throw new BadFlowText(`"${piece}" is not an action that this client knows`);
}

/** The keyword of an action ends at a colon or a parenthesis. */
function headEnd(piece: string): number {
  for (let at = 0; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at);
    if (code === 58 || code === 40) return at;
  }
  return piece.length;
}

const PUTS = new Map<string, Put>([
  ['output', (writer, rest, names) => putOutput(writer, portNumber(argument(rest), names), 0)],
  ['CONTROLLER', (writer, rest) => putOutput(writer, CONTROLLER, rest === '' ? WHOLE_PACKET : small(argument(rest)))],
  ['group', (writer, rest) => putGroup(writer, argument(rest))],
  ['dec_ttl', (writer, rest) => putBare(writer, rest)],
  ['set_field', (writer, rest, names) => putSetField(writer, argument(rest), names)],
  ['resubmit', putResubmit],
  ['move', (writer, rest) => putMove(writer, argument(rest))],
  ['load', (writer, rest) => putLoad(writer, argument(rest))],
  ['ct', (writer, rest, names) => putCt(writer, inner(rest), { names, putActions })],
  ['ct_clear', (writer, rest) => putCtClear(writer, rest)],
  ['controller', (writer, rest) => putController(writer, inner(rest))],
]);

function argument(rest: string): string {
  if (!rest.startsWith(':') || rest.length === 1) throw new BadFlowText(`"${rest}" is not what the action needs`);
  return rest.slice(1);
}

function inner(rest: string): string {
  if (!rest.startsWith('(') || !rest.endsWith(')')) throw new BadFlowText(`"${rest}" is not in parentheses`);
  return rest.slice(1, -1);
}

/** A number of 16 bits. */
function small(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 0xffff) throw new BadFlowText(`"${text}" is not a number of 2 bytes`);
  return value;
}

function arrow(text: string): readonly [string, string] {
  const at = text.lastIndexOf('->');
  if (at < 1) throw new BadFlowText(`"${text}" does not say where it goes`);
  return [text.slice(0, at), text.slice(at + 2)];
}

function putOutput(writer: BytesWriter, port: number, bytesMax: number): void {
  writer.u16(ACTION.output);
  writer.u16(16);
  writer.u32(port);
  writer.u16(bytesMax);
  writer.zeros(6);
}

function putGroup(writer: BytesWriter, id: string): void {
  writer.u16(ACTION.group);
  writer.u16(8);
  putNumber(writer, 4, id);
}

function putBare(writer: BytesWriter, rest: string): void {
  if (rest !== '') throw new BadFlowText(`dec_ttl takes nothing, not "${rest}"`);
  writer.u16(ACTION.decTtl);
  writer.u16(8);
  writer.u32(0);
}

function putSetField(writer: BytesWriter, text: string, names: PortNames): void {
  const [value, name] = arrow(text);
  const field = fieldByName(name);
  if (field === undefined || field.kind === 'ct-state')
    throw new BadFlowText(`"${name}" is not a field that can be set`);
  const masked = value.includes('/');
  const start = masked ? beginNicira(writer, NICIRA_ACTION.load2) : beginAction(writer, ACTION.setField);
  const header = writer.length;
  putHeader(writer, field.code, field.bytes);
  if (putMasked(writer, field, value, names)) {
    writer.bytes[header + 2] = ((field.code & 127) << 1) | 1;
    writer.bytes[header + 3] = field.bytes * 2;
  }
  endAction(writer, start);
}

const RESUBMIT = /^\(([^,]*),(\d+)\)$/;

function putResubmit(writer: BytesWriter, rest: string, names: PortNames): void {
  const [, port, table] = RESUBMIT.exec(rest) ?? [];
  if (port === undefined || Number(table) > 254) throw new BadFlowText(`"resubmit${rest}" does not name a table`);
  const start = beginNicira(writer, NICIRA_ACTION.resubmitTable);
  writer.u16(port === '' ? SHORT_IN_PORT : shortPort(portNumber(port, names)));
  writer.u8(Number(table));
  endAction(writer, start);
}

function putMove(writer: BytesWriter, text: string): void {
  const [from, to] = arrow(text).map(fieldBits);
  if (from === undefined || from.count !== to?.count)
    throw new BadFlowText(`"${text}" moves bits to more or fewer bits`);
  const start = beginNicira(writer, NICIRA_ACTION.move);
  writer.u16(from.count);
  writer.u16(from.from);
  writer.u16(to.from);
  putHeader(writer, from.field.code, from.field.bytes);
  putHeader(writer, to.field.code, to.field.bytes);
  endAction(writer, start);
}

function putLoad(writer: BytesWriter, text: string): void {
  const [value, target] = arrow(text);
  const { field, from, count } = fieldBits(target);
  if (count > 64) throw new BadFlowText(`"${text}" loads more than 64 bits`);
  const start = beginNicira(writer, NICIRA_ACTION.load);
  writer.u16(from * 64 + count - 1);
  putHeader(writer, field.code, field.bytes);
  putNumber(writer, 8, value);
  if (BigInt(value) >> BigInt(count) !== 0n) throw new BadFlowText(`"${value}" is not a number of ${count} bits`);
  endAction(writer, start);
}

function putCtClear(writer: BytesWriter, rest: string): void {
  if (rest !== '') throw new BadFlowText(`ct_clear takes nothing, not "${rest}"`);
  endAction(writer, beginNicira(writer, NICIRA_ACTION.ctClear));
}

function putController(writer: BytesWriter, text: string): void {
  let [bytesMax, id, reason] = [WHOLE_PACKET, 0, BY_ACTION];
  for (const piece of text === '' ? [] : split(text, text)) {
    const [word, value = ''] = piece.split('=');
    if (word === 'max_len') bytesMax = small(value);
    else if (word === 'id') id = small(value);
    else if (word === 'reason') reason = REASONS.indexOf(value as (typeof REASONS)[number]);
    else reason = -1;
  }
  if (reason === -1) throw new BadFlowText(`"controller(${text})" says what this client does not know`);
  const start = beginNicira(writer, NICIRA_ACTION.controller);
  writer.u16(bytesMax);
  writer.u16(id);
  writer.u8(reason);
  endAction(writer, start);
}
