// Decides on one call to a simulated machine: whether its caller may act on the node, what the machine makes of it, and the note that is kept of every
// call, refused ones included.
import { idOf, put, valueOf, type Change, type FleetReader, type Refusal } from '../../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../../journal/index.ts';
import { requireNode } from '../../builder/node-of.ts';
import { NODE, type Node } from '../../model.ts';
import { beginDeploy, finishDeploy, type StoredNode } from '../../nodes/transitions.ts';
import type { MachineCall, MachineOutcome, MachineStatus } from '../inventory.ts';
import { faultOpOf, triggerFault } from './faults.ts';
import { callMachine, NEW_MACHINE, statusOfMachine } from './machine.ts';
import { MACHINE, MACHINE_CALL, type Machine, type MachineCallNote } from './model.ts';
import { SIMULATED_INVENTORY } from './settings.ts';

export interface ActOnMachine {
  readonly call: MachineCall;
  /** A fresh id, for the note. */
  readonly note: string;
  readonly nowMs: number;
}

/** So many calls are kept for a day at least. A manager that is refused without end does not fill the journal. */
export const NOTES_MAX = 10_000;

/** Whether a manager may act on a node now; the reason if not. */
export type RightCheck = (fleet: FleetReader, call: MachineCall) => Refusal | undefined;

export type ActAnswer =
  | { readonly kind: 'outcome'; readonly outcome: MachineOutcome }
  /** Noted, and without effect. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Carried out; the caller is not to learn that. */
  | { readonly kind: 'lost' };

export function actOnMachine(
  fleet: FleetReader,
  { call, note, nowMs }: ActOnMachine,
  denyUnlessEntitled: RightCheck,
): Decision<ActAnswer> {
  const stored = fleet.get(NODE, idOf(NODE, call.node));
  if (stored === undefined) return refuse(unknownMachine(call.node));
  if (stored.doc.inventory !== 'simulated') return refuse(notSimulated(call.node, stored.doc));
  const settings = valueOf(fleet, SIMULATED_INVENTORY);
  const denied = denyUnlessEntitled(fleet, call);
  // A machine that checks nothing is called by whoever calls: that is what trials with such machines are about.
  if (denied !== undefined && settings.checksEpochs) {
    const noted = noteCall(note, { ...call, nowMs, result: denied.code });
    return accept(fleet.count(MACHINE_CALL) < NOTES_MAX ? [noted] : [], { kind: 'refused', refusal: denied });
  }
  const id = idOf(MACHINE, call.node);
  const before = machineOf(fleet, call.node);
  const { fault, changes: used } = triggerFault(fleet, { op: faultOpOf(call.action), node: call.node });
  const { machine, outcome } = callMachine(before, call, { settings, nowMs, fault });
  const changes: Change[] = [...used, noteCall(note, { ...call, nowMs, result: outcome.kind, denied: denied?.code })];
  if (machine !== before) changes.push(put(MACHINE, id, machine));
  if (denied === undefined && isAccepted(outcome.kind)) {
    changes.push(...followDeploy({ stored, call, status: statusOfMachine(machine, nowMs), nowMs }));
  }
  return accept(changes, fault?.outcome === 'applied-but-lost' ? { kind: 'lost' } : { kind: 'outcome', outcome });
}

interface FollowedCall {
  readonly stored: StoredNode;
  readonly call: MachineCall;
  readonly status: MachineStatus;
  readonly nowMs: number;
}

/** From the commit that has it written there is data on the node, whoever deploys. Builds of Muster's own have recorded that before they call. */
function followDeploy({ stored, call, status, nowMs }: FollowedCall): Change[] {
  const { state } = stored.doc;
  const change = { by: call.manager, nowMs };
  if (call.action === 'deploy' && state === 'reserved')
    return [put(NODE, stored.id, requireNode(beginDeploy(stored, change)))];
  return state === 'deploying' && status.state === 'deployed'
    ? [put(NODE, stored.id, requireNode(finishDeploy(stored, change)))]
    : [];
}

export function machineOf(fleet: FleetReader, node: string): Machine {
  return fleet.get(MACHINE, idOf(MACHINE, node))?.doc ?? NEW_MACHINE;
}

export function readMachine(fleet: FleetReader, node: string, nowMs: number): MachineStatus {
  return statusOfMachine(machineOf(fleet, node), nowMs);
}

interface CalledMachine extends Pick<MachineCall, 'action' | 'node' | 'instance' | 'manager' | 'nodeEpoch'> {
  readonly nowMs: number;
  readonly result: string;
  readonly denied?: string | undefined;
}

function noteCall(id: string, called: CalledMachine): Change {
  const { action: op, node, instance, manager, nodeEpoch: epoch, nowMs: atMs, result, denied } = called;
  const accepted = isAccepted(result);
  const doc: MachineCallNote = { op, node, instance, manager, epoch, accepted, result, atMs };
  if (denied !== undefined) doc.denied = denied;
  return put(MACHINE_CALL, idOf(MACHINE_CALL, id), doc);
}

/** It did something, or had been done before. */
export function isAccepted(result: string): boolean {
  return result === 'applied' || result === 'already';
}

/** Why there is no simulated machine of a node; undefined when there is one. */
export function denyUnlessSimulated(fleet: FleetReader, id: string): Refusal | undefined {
  const node = fleet.get(NODE, idOf(NODE, id))?.doc;
  if (node === undefined) return unknownMachine(id);
  return node.inventory === 'simulated' ? undefined : notSimulated(id, node);
}

function unknownMachine(node: string): Refusal {
  const message = `There is no node "${node}". List them with "muster baremetal nodes list".`;
  return { kind: 'not-found', code: 'node-not-found', message, facts: { node } };
}

function notSimulated(node: string, { inventory }: Node): Refusal {
  const message = `The machine of node "${node}" is not simulated: inventory "${inventory}" has it. Act on it there.`;
  return { kind: 'conflict', code: 'machine-not-simulated', message, facts: { node, inventory } };
}
