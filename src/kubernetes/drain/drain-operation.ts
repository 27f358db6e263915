// The operation `worker-drain`: brings all pods off workers within their budgets, and leaves them cordoned. All are cordoned before the first eviction, and
// nothing is evicted from a batch of which one cannot be drained. Nothing is removed.
import type { OperationKind, PlannedStep, RecordStep } from '../../operations/index.ts';
import { endWork, finishDrain } from '../workers/transitions.ts';
import type { Batch } from './batch.ts';
import { removeReport } from './drain-report.ts';
import { undoVictim } from './return-operation.ts';
import {
  changeWorker,
  failSuperseded,
  findVictim,
  lazyBatch,
  noteOf,
  observeVictim,
  planVictim,
  type Victim,
} from './victim-steps.ts';
import { itemsToWake } from './wake.ts';

export const WORKER_DRAIN = 'worker-drain';
const BY = `operation:${WORKER_DRAIN}`;

export const workerDrain: OperationKind = {
  name: WORKER_DRAIN,
  steps: ['inspect', 'cordon', 'check', 'evict'],
  cancel: {
    kind: 'does',
    what: 'no pod is evicted any more, and the workers are given back; evicted pods stay where they are',
  },
  retry: { kind: 'does', what: 'the same workers are drained, with a new deadline' },
  plan: (fleet, items, nowMs) => {
    const batch = lazyBatch(fleet, items);
    return items.flatMap((item) => planItem({ fleet, item, nowMs }, batch));
  },
  observe: (fleet, item, outcome, nowMs) => {
    const worker = findVictim(fleet, item);
    if (worker === undefined) return failSuperseded(item);
    const victim: Victim = { fleet, item, worker, nowMs, by: BY };
    // Nothing is on a Node that is not there.
    return observeVictim(victim, outcome, { afterDrained: finish, withoutNode: finish });
  },
  undo: (fleet, item, nowMs) => undoVictim(fleet, item, { by: BY, nowMs }),
  itemsToWake,
};

type PlannedItem = Pick<Victim, 'fleet' | 'item' | 'nowMs'>;

function planItem({ fleet, item, nowMs }: PlannedItem, batch: () => Batch): readonly PlannedStep[] {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return [failSuperseded(item)];
  return planVictim({ fleet, item, worker, nowMs, by: BY }, batch);
}

function finish(victim: Victim): RecordStep {
  const { fleet, item, worker } = victim;
  const note = noteOf(victim);
  const drained = endWork(finishDrain(worker.doc, note), note);
  return changeWorker(victim, { state: 'done', step: item.doc.step }, drained, removeReport(fleet, worker.id));
}
