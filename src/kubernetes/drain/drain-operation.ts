// The operation `worker-drain`: brings all pods off workers within their budgets, and leaves them cordoned. All are cordoned before the first eviction, and
// nothing is evicted from a batch of which one cannot be drained. Nothing is removed. They end together: until all of them are drained, a cancel gives all of them back.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import {
  decideLater,
  ITEMS_BY_OPERATION,
  OPERATION,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { endWork, finishDrain } from '../workers/transitions.ts';
import type { WorkerBatch } from './batch.ts';
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
  waitForOthers,
  type Victim,
} from './victim-steps.ts';
import { itemsToWake } from './wake.ts';

export const WORKER_DRAIN = 'worker-drain';
const BY = `operation:${WORKER_DRAIN}`;
const AWAIT_OTHERS = 'await-others';

export const workerDrain: OperationKind = {
  name: WORKER_DRAIN,
  steps: ['inspect', 'cordon', 'check', 'evict', AWAIT_OTHERS],
  cancel: {
    kind: 'does',
    what: 'no pod is evicted any more, and the workers are given back; evicted pods stay where they are',
  },
  retry: { kind: 'does', what: 'the same workers are drained, with a new deadline' },
  plan: (fleet, items, nowMs) => {
    const batch = lazyBatch(fleet, items);
    return items.flatMap((item) => planItem({ fleet, item, nowMs }, batch));
  },
  observe: (item, outcome, { fleet, nowMs }) => {
    const worker = findVictim(fleet, item);
    if (worker === undefined) return failSuperseded(item);
    const victim: Victim = { fleet, item, worker, nowMs, by: BY };
    // Nothing is on a Node that is not there.
    return observeVictim(victim, outcome, { afterDrained: awaitOthers, continueWithoutNode: awaitOthers });
  },
  undo: (fleet, item, nowMs) => undoVictim(fleet, item, { by: BY, nowMs }),
  itemsToWake,
};

type PlannedItem = Pick<Victim, 'fleet' | 'item' | 'nowMs'>;

function planItem({ fleet, item, nowMs }: PlannedItem, batch: () => WorkerBatch): readonly PlannedStep[] {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return [failSuperseded(item)];
  const victim: Victim = { fleet, item, worker, nowMs, by: BY };
  if (item.doc.state === 'pending' || item.doc.step !== AWAIT_OTHERS) return planVictim(victim, batch);
  return waitForOthers(victim, batch(), AWAIT_OTHERS) ?? [decideLater(item, (at, atMs) => finishBatch(at, item, atMs))];
}

function awaitOthers(victim: Victim): RecordStep {
  const { fleet, worker } = victim;
  const drained = finishDrain(worker.doc, noteOf(victim));
  return changeWorker(victim, { state: 'running', step: AWAIT_OTHERS }, drained, removeReport(fleet, worker.id));
}

/** All in one commit: a cancel comes before it or after it. */
function finishBatch(fleet: FleetReader, { doc: { operation } }: StoredItem, nowMs: number): RecordStep[] {
  const items = [...fleet.find(ITEMS_BY_OPERATION, idOf(OPERATION, operation))];
  return items
    .filter(({ doc: { state } }) => state === 'running' || state === 'waiting')
    .map((item) => {
      const worker = findVictim(fleet, item);
      if (worker === undefined) return failSuperseded(item);
      const victim: Victim = { fleet, item, worker, nowMs, by: BY };
      return changeWorker(victim, { state: 'done', step: item.doc.step }, endWork(worker.doc, noteOf(victim)));
    });
}
