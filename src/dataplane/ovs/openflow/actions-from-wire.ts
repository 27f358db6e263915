// Decodes actions from wire to text. Foreign flows may have any actions: an unknown one is shown as `unknown(<hex>)` and the rest of the
// flow is still shown.
import {
  ACTION,
  BY_ACTION,
  NICIRA,
  NICIRA_ACTION,
  NO_TABLE,
  REASONS,
  SHORT_IN_PORT,
  WHOLE_PACKET,
} from './action-codes.ts';
import { BytesReader } from './bytes-reader.ts';
import { ctText, natText } from './conntrack-from-wire.ts';
import { fieldBitsText } from './field-bits.ts';
import { fieldByCode, type OxmField } from './fields.ts';
import { readEntry } from './match.ts';
import { CONTROLLER, longPort, portText, type PortNames } from './ports.ts';
import { ProtocolError } from './errors.ts';
import { hexText, maskedText, valueText } from './values.ts';

type ActionReader = (reader: BytesReader, names: PortNames, depth: number) => string | undefined;

/** Actions may be nested, but never deeper than this in practice. */
const DEPTH_MAX = 4;

/** A list of actions; empty when there are none. */
export function readActions(reader: BytesReader, names: PortNames, depth = 0): string[] {
  if (depth > DEPTH_MAX) throw new ProtocolError('actions inside of actions without end');
  const texts: string[] = [];
  while (reader.left > 0) {
    const start = reader.at;
    const [type, length] = [reader.u16(), reader.u16()];
    if (length < 8 || length % 8 !== 0) throw new ProtocolError(`an action of ${length} bytes`);
    const body = reader.sub(length - 4);
    const text = actionText({ type, body, depth }, names);
    texts.push(text ?? `unknown(${new BytesReader(reader.bytes, start, reader.at).hex(length)})`);
  }
  return texts;
}

/** As text of a flow or a bucket. */
export function actionsText(texts: readonly string[]): string {
  return texts.length === 0 ? 'drop' : texts.join(',');
}

interface WireAction {
  readonly type: number;
  readonly body: BytesReader;
  readonly depth: number;
}

/** A nested action may be of an unknown kind; it still has to stay within its own bounds. */
function actionText({ type, body, depth }: WireAction, names: PortNames): string | undefined {
  try {
    if (type !== ACTION.experimenter) return STANDARD.get(type)?.(body, names, depth);
    if (body.u32() !== NICIRA) return undefined;
    return EXTENSIONS.get(body.u16())?.(body, names, depth);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

const STANDARD = new Map<number, ActionReader>([
  [ACTION.output, output],
  [ACTION.pushVlan, (reader) => `push_vlan:0x${reader.hex(2)}`],
  [ACTION.popVlan, () => 'pop_vlan'],
  [ACTION.setQueue, (reader) => `set_queue:${reader.u32()}`],
  [ACTION.group, (reader) => `group:${reader.u32()}`],
  [ACTION.decTtl, () => 'dec_ttl'],
  [ACTION.setField, setField],
]);

const EXTENSIONS = new Map<number, ActionReader>([
  [NICIRA_ACTION.resubmit, (reader, names) => `resubmit:${portText(longPort(reader.u16()), names)}`],
  [NICIRA_ACTION.resubmitTable, resubmitTable],
  [NICIRA_ACTION.move, move],
  [NICIRA_ACTION.load, load],
  [NICIRA_ACTION.load2, setField],
  [NICIRA_ACTION.ct, (reader, names, depth) => ctText(reader, (inside) => readActions(inside, names, depth + 1))],
  [NICIRA_ACTION.nat, natText],
  [NICIRA_ACTION.ctClear, () => 'ct_clear'],
  [NICIRA_ACTION.controller, controller],
]);

function output(reader: BytesReader, names: PortNames): string {
  const [port, bytesMax] = [reader.u32(), reader.u16()];
  if (port === CONTROLLER) return `CONTROLLER:${bytesMax}`;
  const text = portText(port, names);
  return /^[A-Z]/.test(text) ? text : `output:${text}`;
}

function setField(reader: BytesReader, names: PortNames): string | undefined {
  const { field, masked, plain, value } = readEntry(reader);
  if (field === undefined || !(plain || (masked && value.left === field.bytes * 2))) return undefined;
  const text = masked ? maskedText(value, field, names) : valueText(value, field, names);
  return `set_field:${text}->${field.name}`;
}

function resubmitTable(reader: BytesReader, names: PortNames): string {
  const [port, table] = [reader.u16(), reader.u8()];
  if (table === NO_TABLE) return `resubmit:${portText(longPort(port), names)}`;
  return `resubmit(${port === SHORT_IN_PORT ? '' : portText(longPort(port), names)},${table})`;
}

function move(reader: BytesReader): string | undefined {
  const [count, fromBit, toBit] = [reader.u16(), reader.u16(), reader.u16()];
  const [from, to] = [fieldOf(reader), fieldOf(reader)];
  if (from === undefined || to === undefined) return undefined;
  const source = fieldBitsText({ field: from, from: fromBit, count });
  return `move:${source}->${fieldBitsText({ field: to, from: toBit, count })}`;
}

function load(reader: BytesReader): string | undefined {
  const bits = reader.u16();
  const field = fieldOf(reader);
  if (field === undefined) return undefined;
  return `load:${hexText(reader, 8)}->${fieldBitsText({ field, from: bits >> 6, count: (bits & 63) + 1 })}`;
}

function fieldOf(reader: BytesReader): OxmField | undefined {
  return fieldByCode(reader.u32() >>> 9);
}

function controller(reader: BytesReader): string {
  const [bytesMax, id, reason] = [reader.u16(), reader.u16(), reader.u8()];
  const words = [
    ...(reason === BY_ACTION ? [] : [`reason=${REASONS[reason] ?? reason}`]),
    ...(bytesMax === WHOLE_PACKET ? [] : [`max_len=${bytesMax}`]),
    ...(id === 0 ? [] : [`id=${id}`]),
  ];
  return `controller(${words.join(',')})`;
}
