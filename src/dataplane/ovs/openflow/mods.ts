// The changes of a switch that can be made in one bundle, as messages.
import type { SwitchChange } from '../../switch/switch.ts';
import { putActions } from './actions-to-wire.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { putFlowAdd, putFlowRemove } from './flow-codec.ts';
import { putGroup, putGroupRemove } from './group-codec.ts';
import { MESSAGE } from './message-codes.ts';
import { beginMessage, endMessage } from './message-frame.ts';
import { CONTROLLER, portNumber, type PortNames } from './ports.ts';

/** The changes of a switch that OpenFlow makes. */
export type Mod = Extract<SwitchChange, { kind: 'put-flow' | 'remove-flow' | 'put-group' | 'remove-group' }>;

export function isMod(change: SwitchChange): change is Mod {
  return change.kind.endsWith('-flow') || change.kind.endsWith('-group');
}

/** A packet to which the switch applies these actions. */
export interface PacketOut {
  /** Its input port: a quoted name or a reserved word; `CONTROLLER` by default. */
  readonly inPort?: string;
  readonly actions: string;
  readonly data: Uint8Array;
}

const NO_BUFFER = 0xffffffff;

export function putMod(writer: BytesWriter, mod: Mod, { xid, names }: { xid: number; names: PortNames }): void {
  const isFlow = mod.kind === 'put-flow' || mod.kind === 'remove-flow';
  const start = beginMessage(writer, isFlow ? MESSAGE.flowMod : MESSAGE.groupMod, xid);
  switch (mod.kind) {
    case 'put-flow':
      putFlowAdd(writer, mod.flow, names);
      break;
    case 'remove-flow':
      putFlowRemove(writer, mod.flow, names);
      break;
    case 'put-group':
      putGroup(writer, mod.group, names);
      break;
    case 'remove-group':
      putGroupRemove(writer, mod.id);
      break;
  }
  endMessage(writer, start);
}

export function putPacketOut(
  writer: BytesWriter,
  { inPort, actions, data }: PacketOut,
  { xid, names }: { xid: number; names: PortNames },
): void {
  const start = beginMessage(writer, MESSAGE.packetOut, xid);
  writer.u32(NO_BUFFER);
  writer.u32(inPort === undefined ? CONTROLLER : portNumber(inPort, names));
  writer.u16(0);
  writer.zeros(6);
  const from = writer.length;
  putActions(writer, actions, names);
  writer.patch16(from - 8, writer.length - from);
  writer.put(data);
  endMessage(writer, start);
}

/** Describes it for the error when it is refused. */
export function modText(mod: Mod): string {
  switch (mod.kind) {
    case 'put-flow': {
      const { table, priority, match, actions } = mod.flow;
      return `the flow "table=${table},priority=${priority},${match} actions=${actions}"`;
    }
    case 'remove-flow': {
      const { table, priority, match } = mod.flow;
      return `to remove the flow "table=${table},priority=${priority},${match}"`;
    }
    case 'put-group':
      return `the group ${mod.group.id} of type ${mod.group.type} with the buckets "${mod.group.buckets.join('", "')}"`;
    case 'remove-group':
      return `to remove the group ${mod.id}`;
  }
}

export function packetOutText({ inPort, actions, data }: PacketOut): string {
  return `a packet of ${data.length} bytes from ${inPort ?? 'CONTROLLER'} with the actions "${actions}"`;
}
