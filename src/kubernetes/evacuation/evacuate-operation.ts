// The operation `worker-evacuate`: drains one worker whose host leaves, so that its instance can move. It is cordoned, waits for its turn among the leaving workers of
// its cluster, and is evicted from within its budgets. It never evicts once the host stays after all, or its scale-in has ended. Whoever runs elsewhere afterwards is given
// back by the controller of returns.
import { idOf, mark, put, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import { HOST } from '../../hosts/index.ts';
import {
  decideLater,
  expectUnchanged,
  fail,
  ITEM,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  operationOf,
  targetKey,
  wait,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import type { DrainGate } from '../drain/batch.ts';
import { removeReport } from '../drain/drain-report.ts';
import { beginReturn, undoVictim } from '../drain/return-operation.ts';
import {
  changeWorker,
  failOverdue,
  failSuperseded,
  findVictim,
  noteOf,
  observeVictim,
  planVictim,
  policyOf,
  type Victim,
} from '../drain/victim-steps.ts';
import { LEAVING_WORKERS_BY_CLUSTER, WORKER, type Worker } from '../model.ts';
import { endLeaving, endWork, finishDrain, takeTurn, type StoredWorker } from '../workers/transitions.ts';
import {
  clusterOf,
  cordonsAhead,
  findPlace,
  findUnbegun,
  findUncordoned,
  listDrainedFirst,
  listTurns,
} from './leaving-workers.ts';

export const WORKER_EVACUATE = 'worker-evacuate';
const BY = `operation:${WORKER_EVACUATE}`;

/** Longer than any scale-in waits: the drain itself has the deadline of its policy, from its turn on. */
export const EVACUATION_MS = 30 * 24 * 3600 * 1000;

/** For how long workers on hosts that leave as well are waited for, whose hosts hand services over first: these take seconds, unless something holds them. */
const PATIENCE_MS = 30_000;

export const workerEvacuate: OperationKind = {
  name: WORKER_EVACUATE,
  steps: ['inspect', 'cordon', 'check', 'evict'],
  cancel: {
    kind: 'none',
    because: 'its host leaves, and would begin it again; bring the host back with "muster scale-in recover"',
  },
  retry: { kind: 'none', because: 'the scale-in of its host begins it again; after its deadline, retry that' },
  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  observe: (item, outcome, { fleet, nowMs }) => {
    const worker = findVictim(fleet, item);
    if (worker === undefined) return failSuperseded(item);
    const victim: Victim = { fleet, item, worker, nowMs, by: BY };
    return observeVictim(victim, outcome, { afterDrained: finish, continueWithoutNode: finish });
  },
  undo: (fleet, item, nowMs) => {
    const worker = findVictim(fleet, item);
    if (worker?.doc.cordon !== undefined) return undoVictim(fleet, item, { by: BY, nowMs });
    return worker === undefined ? { changes: [], expects: [] } : endUncordoned(worker, nowMs);
  },
  itemsToWake,
};

const CORDON_STEPS: readonly string[] = ['inspect', 'cordon'];

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return [failSuperseded(item)];
  const victim: Victim = { fleet, item, worker, nowMs, by: BY };
  switch (findPlace(fleet, worker.doc)) {
    case 'stays':
      return [decideLater(item, (at) => endInCommit(at, item))];
    case 'ended':
      return [fail(item, { code: 'scale-in-ended', worker: worker.id })];
    case 'lost':
      return [fail(item, { code: 'worker-host-lost', worker: worker.id })];
    case 'leaving':
      return CORDON_STEPS.includes(item.doc.step) ? planVictim(victim, () => gateOf(victim)) : planEviction(victim);
  }
}

/** Cordoned: what is next depends on whose turn it is. */
function planEviction(victim: Victim): readonly PlannedStep[] {
  const { fleet, item, worker, nowMs } = victim;
  const { leaving, cluster } = worker.doc;
  if (leaving?.turnAtMs !== undefined) {
    const isOver = nowMs > leaving.turnAtMs + policyOf(worker.doc).deadlineMs;
    return isOver ? [failOverdue(item)] : planVictim(victim, () => gateOf(victim));
  }
  const patientUntilMs = (leaving?.sinceMs ?? 0) + PATIENCE_MS;
  if (nowMs < patientUntilMs && cordonsAhead(fleet, cluster) && findUnbegun(fleet, cluster) !== undefined)
    return [wait(item, { code: 'others-to-cordon', worker: worker.id }, patientUntilMs)];
  const { drainsAtOnce } = clusterOf(fleet, worker.doc);
  const turns = listTurns(fleet, cluster);
  // Decided on the newest state: two must not take one turn.
  if (turns.length < drainsAtOnce || !cordonsAhead(fleet, cluster))
    return [decideLater(item, (at, atMs) => takeTurnInCommit(at, item, atMs))];
  const other = turns[0]?.id ?? '';
  return [wait(item, { code: 'drains-at-once', worker: worker.id, cluster, atOnce: drainsAtOnce, other })];
}

function takeTurnInCommit(fleet: FleetReader, planned: StoredItem, nowMs: number): readonly RecordStep[] {
  const item = fleet.get(ITEM, planned.id);
  const worker = item && findVictim(fleet, item);
  if (item === undefined || worker === undefined) return [];
  const { cluster } = worker.doc;
  const victim: Victim = { fleet, item, worker, nowMs, by: BY };
  if (listTurns(fleet, cluster).length < clusterOf(fleet, worker.doc).drainsAtOnce)
    return [changeWorker(victim, { state: 'running', step: 'check' }, takeTurn(worker.doc, noteOf(victim)))];
  return cordonsAhead(fleet, cluster) ? [] : [release(victim)];
}

/** It is not its turn, and its room is needed by pods of another: it is cordoned again when its turn comes. */
function release({ fleet, item, worker, nowMs }: Victim): RecordStep {
  const operation = idOf(OPERATION, `${item.id}.return`);
  const changes = beginReturn(fleet, { operation, workers: [worker], by: BY, nowMs });
  const failed = fail(item, { code: 'worker-turn-later', worker: worker.id });
  return { ...failed, changes, expects: [expectUnchanged(WORKER, worker)] };
}

function gateOf({ fleet, worker }: Victim): DrainGate {
  const { cluster } = worker.doc;
  return {
    haveReached: (step) => step !== 'check' || findUncordoned(fleet, cluster) === undefined,
    // One that fails keeps no other from leaving: nothing is removed here.
    findFailedBefore: () => undefined,
  };
}

/** Nothing more is evicted, and the worker is given back. */
function endInCommit(fleet: FleetReader, planned: StoredItem): readonly RecordStep[] {
  const item = fleet.get(ITEM, planned.id);
  const worker = item && findVictim(fleet, item);
  if (item === undefined || worker === undefined || findPlace(fleet, worker.doc) !== 'stays') return [];
  mark('drain-ends-host-stays');
  const { id, doc } = operationOf(fleet, item);
  const ended = wait(item, { code: 'worker-stays', worker: worker.id });
  return [{ ...ended, changes: [put(OPERATION, id, { ...doc, state: 'cancelling' })] }];
}

function endUncordoned(worker: StoredWorker, nowMs: number): Pick<RecordStep, 'changes' | 'expects'> {
  const doc = endLeaving(endWork(worker.doc, { by: BY, nowMs }));
  return { changes: [put(WORKER, worker.id, doc)], expects: [expectUnchanged(WORKER, worker)] };
}

function finish(victim: Victim): RecordStep {
  const { fleet, item, worker } = victim;
  const note = noteOf(victim);
  const drained = endWork(finishDrain(worker.doc, note), note);
  return changeWorker(victim, { state: 'done', step: item.doc.step }, drained, removeReport(fleet, worker.id));
}

/** Turns and cordons of a cluster concern all of its leaving workers, and a host that comes back all of its own. */
function* itemsToWake(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind === HOST.name) {
    const host = (after ?? before)?.id;
    for (const worker of host === undefined ? [] : listDrainedFirst(fleet, host)) yield* openItemsOf(fleet, worker);
    return;
  }
  if (kind !== WORKER.name) return;
  const [was, is] = [before?.doc as Worker | undefined, after?.doc as Worker | undefined];
  const cluster = (is ?? was)?.cluster;
  if (cluster === undefined || describeTurn(was) === describeTurn(is)) return;
  for (const worker of fleet.find(LEAVING_WORKERS_BY_CLUSTER, cluster)) yield* openItemsOf(fleet, worker);
}

/** What others of its cluster wait for; empty for one that does not leave. */
function describeTurn(worker: Worker | undefined): string {
  if (worker?.leaving === undefined) return '';
  const { state, leaving, cordon, work } = worker;
  return [state, leaving.attempts, leaving.turnAtMs, cordon?.isConfirmed, work?.operation].join();
}

function openItemsOf(fleet: FleetReader, { id }: StoredWorker): Iterable<StoredItem> {
  return fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(WORKER.name, id));
}
