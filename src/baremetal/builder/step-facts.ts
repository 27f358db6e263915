// What a step on a machine has to remember: the epoch of the node when the step was recorded. Under another one it may have been begun by another manager, and
// whoever goes on looks at the machine first.
import type { FleetReader, Reason } from '../../fleet/index.ts';
import { record, wait, type PlannedStep, type RecordStep, type StoredItem } from '../../operations/index.ts';
import { unmanagedReason } from './node-of.ts';
import type { StoredNode } from '../nodes/transitions.ts';

/** What is being done to a machine, by the step that asks for it. */
const CODES: Readonly<Record<string, string>> = {
  connect: 'node-connecting',
  deploy: 'node-deploying',
  disconnect: 'node-disconnecting',
  clean: 'node-cleaning',
  'power-on': 'node-powering-on',
  'power-off': 'node-powering-off',
  reboot: 'node-rebooting',
};

/** Of a step, or of one that is tried again. */
export function stepReason(step: string, { id, doc }: StoredNode): Reason {
  return { code: CODES[step] ?? step, node: id, instance: doc.instance, epoch: doc.epoch };
}

/** Before any step when nothing is known: then the machine is looked at. */
export function sinceEpochOf({ doc }: StoredItem): number {
  const epoch = doc.reason?.['epoch'];
  return typeof epoch === 'number' ? epoch : 0;
}

/** Says while nobody acts on the node that it waits for that, and goes on afterwards. The task stays the same meanwhile. */
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
