// Groups and their buckets between text and wire. A bucket is a text of actions; in a fast-failover group it begins with the port that it
// watches: `watch_port:"name",actions=...`.
import type { FlowGroup } from '../../switch/switch.ts';
import { actionsText, readActions } from './actions-from-wire.ts';
import { putActions } from './actions-to-wire.ts';
import type { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { ANY, portNumber, portText, type PortNames } from './ports.ts';
import { BadFlowText, ProtocolError } from './errors.ts';

/** As read: foreign groups may be of types that we never use. */
export interface ListedGroup {
  readonly id: number;
  readonly type: FlowGroup['type'] | 'select' | 'unknown';
  readonly buckets: readonly string[];
}

/** Add-or-modify is an extension of Open vSwitch. */
const COMMAND = { remove: 2, put: 0x8000 } as const;
const TYPES = ['all', 'select', 'indirect', 'fast-failover'] as const;
const ID_MAX = 0xffffff00;

export function putGroup(writer: BytesWriter, { id, type, buckets }: FlowGroup, names: PortNames): void {
  putStart(writer, { command: COMMAND.put, type: TYPES.indexOf(type), id });
  for (const bucket of buckets) putBucket(writer, bucket, names);
}

export function putGroupRemove(writer: BytesWriter, id: number): void {
  putStart(writer, { command: COMMAND.remove, type: 0, id });
}

function putStart(writer: BytesWriter, { command, type, id }: Record<'command' | 'type' | 'id', number>): void {
  if (!Number.isInteger(id) || id < 0 || id > ID_MAX) throw new BadFlowText(`there is no group ${id}`);
  writer.u16(command);
  writer.u8(type);
  writer.u8(0);
  writer.u32(id);
}

const ACTIONS = ',actions=';
const WATCH = 'watch_port:';

function putBucket(writer: BytesWriter, text: string, names: PortNames): void {
  const watches = text.startsWith(WATCH);
  const at = text.indexOf(ACTIONS);
  if (watches && at === -1) throw new BadFlowText(`a bucket that watches a port has actions: "${text}"`);
  const start = writer.length;
  writer.zeros(4); // length, weight
  writer.u32(watches ? portNumber(text.slice(WATCH.length, at), names) : ANY);
  writer.u32(ANY); // watched group
  writer.u32(0);
  putActions(writer, watches ? text.slice(at + ACTIONS.length) : text, names);
  writer.patch16(start, writer.length - start);
}

/** One entry of a group list. */
export function readGroup(reader: BytesReader, names: PortNames): ListedGroup {
  const length = reader.u16();
  if (length < 8) throw new ProtocolError(`a group of ${length} bytes`);
  const entry = reader.sub(length - 2);
  const type = TYPES[entry.u8()] ?? 'unknown';
  entry.skip(1);
  const id = entry.u32();
  const buckets: string[] = [];
  while (entry.left > 0) buckets.push(readBucket(entry, { type, names }));
  return { id, type, buckets };
}

function readBucket(reader: BytesReader, about: { readonly type: string; readonly names: PortNames }): string {
  const length = reader.u16();
  if (length < 16) throw new ProtocolError(`a bucket of ${length} bytes`);
  const entry = reader.sub(length - 2);
  const [weight, port, group] = [entry.u16(), entry.u32(), entry.u32()];
  entry.skip(4);
  const actions = actionsText(readActions(entry, about.names));
  const before = [
    ...(about.type === 'select' ? [`weight:${weight}`] : []),
    ...(port === ANY ? [] : [`${WATCH}${portText(port, about.names)}`]),
    ...(group === ANY ? [] : [`watch_group:${group}`]),
  ];
  return before.length === 0 ? actions : `${before.join(',')}${ACTIONS}${actions}`;
}
