// Flows between text and wire. Our own flows only apply actions; other instructions of foreign flows are shown, not written.
import type { Flow } from '../../switch/switch.ts';
import { ActionCache } from './action-cache.ts';
import { actionsText, readActions } from './actions-from-wire.ts';
import { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { matchText, putMatch } from './match.ts';
import { ANY, type PortNames } from './ports.ts';
import { BadFlowText, ProtocolError } from './errors.ts';
import { hexText } from './values.ts';

export type FlowKey = Pick<Flow, 'table' | 'priority' | 'match'>;
type FlowToRemove = FlowKey & Partial<Flow>;

const COMMAND = { add: 0, deleteStrict: 4 } as const;
const INSTRUCTION = { goto: 1, writeMetadata: 2, write: 3, apply: 4, clear: 5, meter: 6 } as const;
const NO_BUFFER = 0xffffffff;
const COOKIE = /^[0-9a-f]{16}$/;
const PRIORITY_MAX = 0xffff;
/** 255 means all tables. */
const TABLE_MAX = 254;
/** The cache changes nothing but the time it takes. */
const ACTIONS = new ActionCache();

/** The body of a message that adds this flow, replacing one with the same table, priority and match. */
export function putFlowAdd(writer: BytesWriter, flow: Flow, names: PortNames): void {
  putCookie(writer, flow.cookie);
  writer.zeros(8); // any cookie
  putRest(writer, flow, COMMAND.add);
  putMatch(writer, flow.match, names);
  if (flow.actions === 'drop') return;
  const start = writer.length;
  writer.u16(INSTRUCTION.apply);
  writer.u16(0);
  writer.u32(0);
  ACTIONS.put(writer, flow.actions, names);
  writer.patch16(start + 2, writer.length - start);
}

/** The body of a message that removes the flow with this table, priority and match: the one with this cookie, or any. */
export function putFlowRemove(writer: BytesWriter, flow: FlowToRemove, names: PortNames): void {
  if (flow.cookie === undefined) writer.zeros(16);
  else {
    putCookie(writer, flow.cookie);
    writer.u32(0xffffffff); // exactly this one
    writer.u32(0xffffffff);
  }
  putRest(writer, flow, COMMAND.deleteStrict);
  putMatch(writer, flow.match, names);
}

function putCookie(writer: BytesWriter, cookie: string): void {
  if (!COOKIE.test(cookie)) throw new BadFlowText(`"${cookie}" is not a cookie of 16 hexadecimal digits`);
  writer.u32(Number.parseInt(cookie.slice(0, 8), 16));
  writer.u32(Number.parseInt(cookie.slice(8), 16));
}

function putRest(writer: BytesWriter, { table, priority }: FlowKey, command: number): void {
  if (!isWithin(table, TABLE_MAX) || !isWithin(priority, PRIORITY_MAX)) {
    throw new BadFlowText(`there is no table ${table} with priority ${priority}`);
  }
  writer.u8(table);
  writer.u8(command);
  writer.u32(0); // no time-outs
  writer.u16(priority);
  writer.u32(NO_BUFFER);
  writer.u32(ANY); // out port
  writer.u32(ANY); // out group
  writer.u32(0); // flags, importance
}

function isWithin(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}

/** One entry of a flow list. */
export function readFlow(reader: BytesReader, names: PortNames): Flow {
  const length = reader.u16();
  if (length < 2) throw new ProtocolError(`a flow of ${length} bytes`);
  const entry = reader.sub(length - 2);
  const table = entry.u8();
  entry.skip(9);
  const priority = entry.u16();
  entry.skip(10);
  const cookie = entry.hex(8);
  entry.skip(16);
  const match = matchText(entry, names);
  return { table, priority, match, actions: actionsText(readInstructions(entry, names)), cookie };
}

function readInstructions(reader: BytesReader, names: PortNames): string[] {
  const texts: string[] = [];
  while (reader.left > 0) {
    const start = reader.at;
    const [type, length] = [reader.u16(), reader.u16()];
    if (length < 4) throw new ProtocolError(`an instruction of ${length} bytes`);
    const body = reader.sub(length - 4);
    if (type === INSTRUCTION.apply) {
      body.skip(4);
      for (const text of readActions(body, names)) texts.push(text);
    } else {
      texts.push(instruction(type, body, names) ?? `unknown(${new BytesReader(reader.bytes, start).hex(length)})`);
    }
  }
  return texts;
}

/** What only foreign flows have. */
function instruction(type: number, body: BytesReader, names: PortNames): string | undefined {
  switch (type) {
    case INSTRUCTION.goto:
      return `goto_table:${body.u8()}`;
    case INSTRUCTION.writeMetadata: {
      body.skip(4);
      const [value, mask] = [hexText(body, 8), hexText(body, 8)];
      return mask === '0xffffffffffffffff' ? `write_metadata:${value}` : `write_metadata:${value}/${mask}`;
    }
    case INSTRUCTION.write:
      body.skip(4);
      return `write_actions(${actionsText(readActions(body, names))})`;
    case INSTRUCTION.clear:
      return 'clear_actions';
    case INSTRUCTION.meter:
      return `meter:${body.u32()}`;
    default:
      return undefined;
  }
}
