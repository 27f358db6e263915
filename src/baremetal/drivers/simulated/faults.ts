// Faults that are armed for simulated machines: which call fails, how, and how often. The oldest that matches a call applies, so that a test reads in the
// order in which it was written.
import { idOf, put, remove, type Change, type FleetReader, type Stored } from '../../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../../journal/index.ts';
import type { MachineAction } from '../inventory.ts';
import { MACHINE_FAULT, type FaultOp, type FaultOutcome, type MachineFault } from './model.ts';

/** More is a script that forgot to disarm. */
const FAULTS_MAX = 100;

const QUICK: readonly FaultOutcome[] = ['ok', 'unavailable', 'failed', 'applied-but-lost'];
const LONG: readonly FaultOutcome[] = [...QUICK, 'hang'];

/** The possible outcomes of each kind of call. */
const OUTCOMES_BY_OP: Readonly<Record<FaultOp, readonly FaultOutcome[]>> = {
  list: ['ok', 'unavailable', 'hang'],
  claim: LONG,
  connect: QUICK,
  deploy: LONG,
  clean: LONG,
  power: QUICK,
};

const OP_OF_ACTION: Readonly<Record<MachineAction, FaultOp>> = {
  deploy: 'deploy',
  clean: 'clean',
  'power-on': 'power',
  'power-off': 'power',
  reboot: 'power',
  connect: 'connect',
  disconnect: 'connect',
};

export function faultOpOf(action: MachineAction): FaultOp {
  return OP_OF_ACTION[action];
}

export interface ArmFault extends Pick<MachineFault, 'op' | 'node' | 'outcome'> {
  readonly id: string;
  readonly delayMs?: number | undefined;
  readonly times?: number | undefined;
  readonly by: string;
  readonly nowMs: number;
}

export function armFault(fleet: FleetReader, command: ArmFault): Decision<Stored<'simulated-fault', MachineFault>> {
  const { id, op, node, outcome, delayMs = 0, times = 1, by, nowMs } = command;
  if (!OUTCOMES_BY_OP[op].includes(outcome)) {
    const message = `A "${op}" call cannot come to "${outcome}". Choose one of: ${OUTCOMES_BY_OP[op].join(', ')}.`;
    return refuse({ kind: 'invalid', code: 'outcome-not-possible', message, field: '/outcome' });
  }
  if (fleet.count(MACHINE_FAULT) >= FAULTS_MAX) {
    const message = `${FAULTS_MAX} faults are armed, which is the most. Disarm them first.`;
    return refuse({ kind: 'limit', code: 'too-many-faults', message });
  }
  const doc: MachineFault = { op, outcome, delayMs, times, armedBy: by, armedAtMs: nowMs };
  if (node !== undefined) doc.node = node;
  const stored = { id: idOf(MACHINE_FAULT, id), revision: 0, doc };
  return accept([put(MACHINE_FAULT, stored.id, doc)], stored);
}

export function disarmFaults(fleet: FleetReader): Decision<number> {
  const changes = Array.from(fleet.all(MACHINE_FAULT), ({ id }) => remove(MACHINE_FAULT, id));
  return accept(changes, changes.length);
}

/** The fault that applies to a call, and what using it up changes. There are a hundred at most. */
export function triggerFault(
  fleet: FleetReader,
  call: { readonly op: FaultOp; readonly node?: string | undefined },
): { readonly fault?: MachineFault; readonly changes: readonly Change[] } {
  for (const { id, doc } of fleet.all(MACHINE_FAULT)) {
    if (doc.op !== call.op || (doc.node ?? call.node) !== call.node) continue;
    const left = doc.times - 1;
    return {
      fault: doc,
      changes: [left === 0 ? remove(MACHINE_FAULT, id) : put(MACHINE_FAULT, id, { ...doc, times: left })],
    };
  }
  return { changes: [] };
}
