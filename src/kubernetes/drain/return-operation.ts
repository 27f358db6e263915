// The operation `worker-return`: takes the cordons of workers back and puts them in service again. What an operator had cordoned or labelled before stays so.
// It is begun by a request, and by the cancellation of a drain or a removal.
import { idOf, mark, put, type Change, type FleetReader, type ChangeNote } from '../../fleet/index.ts';
import {
  expectUnchanged,
  newOperation,
  OPERATION,
  record,
  type OperationId,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import type { NodeMarks } from '../cluster-api/cluster-api.ts';
import { CLUSTER, WORKER, type Worker } from '../model.ts';
import { findPlace } from '../evacuation/leaving-workers.ts';
import { assignWork, endWork, forgetNode, resumeService, type StoredWorker } from '../workers/transitions.ts';
import { removeReport } from './drain-report.ts';
import { readNodeResult } from './node-order.ts';
import {
  act,
  changeWorker,
  failSuperseded,
  findVictim,
  isDue,
  noteOf,
  observeOther,
  type Victim,
} from './victim-steps.ts';

export const WORKER_RETURN = 'worker-return';
const BY = `operation:${WORKER_RETURN}`;
const STEP = 'uncordon';
/** However long the cluster is away: a cordon that stays is capacity lost. */
const DEADLINE_MS = 24 * 3600 * 1000;

export const workerReturn: OperationKind = {
  name: WORKER_RETURN,
  steps: [STEP],
  cancel: { kind: 'none', because: 'a worker that is half given back is of no use; drain it again' },
  retry: { kind: 'does', what: 'the workers that are cordoned still are given back' },
  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  observe: (item, outcome, { fleet, nowMs }) => {
    const worker = findVictim(fleet, item);
    if (worker === undefined) return failSuperseded(item);
    const victim: Victim = { fleet, item, worker, nowMs, by: BY };
    const result = readNodeResult(outcome);
    const isGone = result.kind === 'no-node' || result.kind === 'replaced';
    if (isGone && worker.doc.state === 'removing') return finishWithoutNode(victim);
    // Without its Node it has no cordon either.
    return isGone || result.kind === 'node'
      ? finish(victim)
      : (observeOther(victim, result) ?? record(item, { state: 'running', step: STEP }));
  },
};

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return [failSuperseded(item)];
  const { cluster, node, nodeUid, cordon } = worker.doc;
  const victim: Victim = { fleet, item, worker, nowMs, by: BY };
  if (cordon === undefined) return [finish(victim)];
  if (!isDue(item, nowMs)) return [];
  const uid = nodeUid === undefined ? {} : { uid: nodeUid };
  return [act(item, { op: 'mark', cluster, node, ...uid, marks: marksBefore(cordon) })];
}

/** Only what was not there before the cordon is removed. */
function marksBefore({ wasUnschedulable, wasExcluded }: NonNullable<Worker['cordon']>): NodeMarks {
  return {
    ...(!wasUnschedulable && { isUnschedulable: false }),
    ...(!wasExcluded && { isExcludedFromLoadBalancers: false }),
  };
}

function finish(victim: Victim): RecordStep {
  const { fleet, worker } = victim;
  // Its host leaves still: its drain begins again, and that it has failed before is not forgotten.
  const isDrainedAgain = findPlace(fleet, worker.doc) === 'leaving';
  const doc = resumeService(worker.doc, { ...noteOf(victim), keepsLeaving: isDrainedAgain });
  return changeWorker(victim, { state: 'done', step: STEP }, doc, removeReport(fleet, worker.id));
}

/** Its removal had deleted its Node: it can only be finished. */
function finishWithoutNode(victim: Victim): RecordStep {
  mark('removal-cancelled-without-node');
  const note = noteOf(victim);
  return changeWorker(victim, { state: 'done', step: STEP }, endWork(forgetNode(victim.worker.doc, note), note));
}

export interface BeginReturn extends ChangeNote {
  readonly operation: OperationId;
  readonly why?: string | undefined;
  readonly workers: readonly StoredWorker[];
}

/** All of one cluster, each drained or left half drained. */
export function beginReturn(fleet: FleetReader, { operation, why, workers, ...change }: BeginReturn): Change[] {
  const [first] = workers;
  if (first === undefined) return [];
  const cluster = fleet.get(CLUSTER, idOf(CLUSTER, first.doc.cluster))?.doc;
  return [
    ...workers.map(({ id, doc }) => put(WORKER, id, assignWork(doc, { operation, ...change }))),
    ...newOperation({
      ...{ id: operation, kind: WORKER_RETURN, title: `give back ${nameWorkers(workers)}`, by: change.by, why },
      ...{ site: cluster?.site, project: cluster?.project, nowMs: change.nowMs, deadlineMs: DEADLINE_MS },
      items: workers.map(({ id }) => ({ key: id, target: { kind: WORKER.name, id }, step: STEP })),
    }),
  ];
}

export function nameWorkers(workers: readonly StoredWorker[]): string {
  return workers.length === 1 ? `worker ${workers[0]?.id}` : `${workers.length} workers`;
}

/**
 * What a cancelled drain or removal has begun with a worker is taken back, unless its Node is gone: then its removal can only be finished, by another
 * request.
 */
export function undoVictim(
  fleet: FleetReader,
  item: StoredItem,
  change: ChangeNote,
): Pick<RecordStep, 'changes' | 'expects'> {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return { changes: [], expects: [] };
  const expects = [expectUnchanged(WORKER, worker)];
  const isNodeGone = worker.doc.state === 'removing' && worker.doc.nodeUid === undefined;
  if (worker.doc.cordon === undefined || isNodeGone)
    return { changes: [put(WORKER, worker.id, endWork(worker.doc, change))], expects };
  const operation = idOf(OPERATION, `${item.id}.return`);
  return { changes: beginReturn(fleet, { operation, workers: [worker], ...change }), expects };
}
