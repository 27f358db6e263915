// What a switch makes of a flow that it was given: the same bytes, as an entry of its list. So that tests can read what they wrote.
import type { Flow, FlowGroup } from '../../switch/switch.ts';
import { BytesReader } from './bytes-reader.ts';
import { BytesWriter } from './bytes-writer.ts';
import { putFlowAdd, readFlow } from './flow-codec.ts';
import { putGroup, readGroup, type ListedGroup } from './group-codec.ts';
import { portNamesOf } from './ports.ts';

export const NAMES = portNamesOf([
  { name: 'vm1', number: 1 },
  { name: 'muster-tun', number: 100 },
  { name: 'muster-ext', number: 200 },
]);

/** The body of a message that puts a flow, as an entry of the list of flows. */
export function flowStatsEntry(body: Uint8Array): Uint8Array {
  const writer = new BytesWriter();
  writer.u16(0);
  writer.u8(body[16] ?? 0);
  writer.zeros(9);
  writer.put(body.subarray(22, 24));
  writer.zeros(10);
  writer.put(body.subarray(0, 8));
  writer.zeros(16);
  writer.put(body.subarray(40));
  writer.patch16(0, writer.length);
  return writer.copy();
}

/** The body of a message that puts a group, as an entry of the list of groups. */
export function groupStatsEntry(body: Uint8Array): Uint8Array {
  const writer = new BytesWriter();
  writer.u16(body.length);
  writer.put(body.subarray(2));
  return writer.copy();
}

export function flowBytes(flow: Flow, names = NAMES): Uint8Array {
  const writer = new BytesWriter(16);
  putFlowAdd(writer, flow, names);
  return flowStatsEntry(writer.copy());
}

export function groupBytes(group: FlowGroup): Uint8Array {
  const writer = new BytesWriter(16);
  putGroup(writer, group, NAMES);
  return groupStatsEntry(writer.copy());
}

/** As it is read after it was put. */
export function roundTripFlow(flow: Flow): Flow {
  return readFlow(new BytesReader(flowBytes(flow)), NAMES);
}

export function roundTripGroup(group: FlowGroup): ListedGroup {
  return readGroup(new BytesReader(groupBytes(group)), NAMES);
}
