// What a step on a machine has to remember: the epoch of the node when the step was recorded. Under another one it may have been begun by another manager, and
// the manager that continues looks at the machine first.
import type { FleetReader, Reason } from '../../fleet/index.ts';
import { record, wait, type PlannedStep, type RecordStep, type StoredItem } from '../../operations/index.ts';
import { unmanagedReason } from './node-of.ts';
import type { StoredNode } from '../nodes/transitions.ts';

/** The steps that act on a machine, and the code of the reason while each does. */
const CODES = {
  connect: 'node-connecting',
  deploy: 'node-deploying',
  disconnect: 'node-disconnecting',
  clean: 'node-cleaning',
  'power-on': 'node-powering-on',
  'power-off': 'node-powering-off',
  reboot: 'node-rebooting',
} as const;

/** While the step of an item acts on the machine. A step that acts on none has no such reason: to record one is a fault of the program. */
export function stepReason(step: string, node: StoredNode): Reason {
  if (!isMachineStep(step)) throw new Error(`step ${step} acts on no machine, but was recorded for node ${node.id}`);
  return nodeReason(CODES[step], node);
}

/** Why a step on the machine waits to be retried. */
export function retryReason(code: 'clean-retried' | 'power-retried', node: StoredNode): Reason {
  return nodeReason(code, node);
}

function nodeReason(code: string, { id, doc }: StoredNode): Reason {
  return { code, node: id, instance: doc.instance, epoch: doc.epoch };
}

function isMachineStep(step: string): step is keyof typeof CODES {
  return Object.hasOwn(CODES, step);
}

/** Before any step when nothing is known: then the machine is looked at. */
export function sinceEpochOf({ doc }: StoredItem): number {
  const epoch = doc.reason?.['epoch'];
  return typeof epoch === 'number' ? epoch : 0;
}

/** Waits while no manager acts on the node, with that reason, and continues afterwards. The task stays the same meanwhile. */
export function planWithManager(fleet: FleetReader, item: StoredItem, node: StoredNode): readonly PlannedStep[] {
  const epoch = sinceEpochOf(item);
  const reason = unmanagedReason(fleet, node, epoch);
  if (reason !== undefined) return [wait(item, reason)];
  return item.doc.reason?.code === 'node-unmanaged' ? [resume(item, node, epoch)] : [];
}

function resume(item: StoredItem, node: StoredNode, epoch: number): RecordStep {
  const { step } = item.doc;
  const reason = { ...stepReason(step, node), epoch };
  return record(item, { state: 'running', step, reason });
}
