// Faults that are armed for simulated machines: which call fails, how, and how often. The oldest that matches a call applies, so that a test reads in the
// order in which it was written.
import { idOf, put, remove, type Change, type FleetReader, type Stored } from '../../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../../journal/index.ts';
import type { MachineAction } from '../inventory.ts';
import { MACHINE_FAULT, type FaultOp, type MachineFaultOutcome, type MachineFault } from './model.ts';

/** More is a script that forgot to disarm. */
const FAULTS_MAX = 100;

const QUICK: readonly MachineFaultOutcome[] = ['ok', 'unavailable', 'failed', 'applied-but-lost'];
const LONG: readonly MachineFaultOutcome[] = [...QUICK, 'hang'];

/** The possible outcomes of each kind of call. */
const OUTCOMES_BY_OP: Readonly<Record<FaultOp, readonly MachineFaultOutcome[]>> = {
  list: ['ok', 'unavailable', 'hang', 'partial', 'gone'],
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
  if (outcome === 'gone' && node === undefined) {
    const message = 'Name the node that the inventory does not know any more.';
    return refuse({ kind: 'invalid', code: 'node-not-named', message, field: '/node' });
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

export interface FaultyCall {
  readonly op: FaultOp;
  readonly node?: string | undefined;
  /** A page of the list, which a node that is gone does not make fail. */
  readonly isPage?: true;
}

/** The fault that applies to a call, and what using it up changes. There are a hundred at most. */
export function triggerFault(
  fleet: FleetReader,
  call: FaultyCall,
): { readonly fault?: MachineFault; readonly changes: readonly Change[] } {
  for (const stored of fleet.all(MACHINE_FAULT)) {
    const { doc } = stored;
    if (doc.op !== call.op || (doc.node ?? call.node) !== call.node) continue;
    if (call.isPage === true ? doc.outcome === 'gone' : doc.outcome === 'partial') continue;
    return { fault: doc, changes: [useUp(stored)] };
  }
  return { changes: [] };
}

/** Of the nodes of a page, those that the inventory does not know any more, and what using those faults up changes. */
export function triggerGone(
  fleet: FleetReader,
  nodes: ReadonlySet<string>,
): { readonly gone: ReadonlySet<string>; readonly changes: readonly Change[] } {
  const gone = new Set<string>();
  const changes: Change[] = [];
  for (const stored of fleet.all(MACHINE_FAULT)) {
    const { outcome, node = '' } = stored.doc;
    if (outcome !== 'gone' || gone.has(node) || !nodes.has(node)) continue;
    gone.add(node);
    changes.push(useUp(stored));
  }
  return { gone, changes };
}

function useUp({ id, doc }: Stored<'simulated-fault', MachineFault>): Change {
  const left = doc.times - 1;
  return left === 0 ? remove(MACHINE_FAULT, id) : put(MACHINE_FAULT, id, { ...doc, times: left });
}
