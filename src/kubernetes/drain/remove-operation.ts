// The operation `worker-remove`: drains workers, then takes each out of its cluster and deletes its instance, or has its machine leave the cluster where the instance
// stays. No Node is deleted before every victim is drained, and no instance before its Node is. A Node that comes back after that is deleted again.
import { idOf, remove, type FleetReader } from '../../fleet/index.ts';
import { deleteInstances, INSTANCE, type Builders } from '../../instances/index.ts';
import {
  decideLater,
  fail,
  OPERATION,
  operationOf,
  record,
  wait,
  type ActionOutcome,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
} from '../../operations/index.ts';
import { removeLog } from '../join/model.ts';
import { WORKER } from '../model.ts';
import { beginRemoval, finishDrain, forgetNode } from '../workers/transitions.ts';
import { VICTIM_STEPS, type WorkerBatch, type VictimStep } from './batch.ts';
import { removeReport } from './drain-report.ts';
import { observeLeaving, planLeaving } from './leave-steps.ts';
import { readNodeResult, type NodeResult } from './node-order.ts';
import { undoVictim } from './return-operation.ts';
import {
  act,
  changeWorker,
  failOverdue,
  failSuperseded,
  failUncordoned,
  findVictim,
  isDue,
  lazyBatch,
  noteOf,
  observeOther,
  observeVictim,
  planVictim,
  policyOf,
  refOf,
  waitForOthers,
  type Victim,
} from './victim-steps.ts';
import { itemsToWake } from './wake.ts';

export const WORKER_REMOVE = 'worker-remove';
const BY = `operation:${WORKER_REMOVE}`;

/** What the operation gets beside the deadline of its drain: volumes, Nodes and instances go in seconds, unless something is away. */
export const REMOVAL_MS = 30 * 60 * 1000;
/** Volumes that stay attached for longer are not waited for: their machine goes. */
const DETACH_MAX_MS = 60_000;
const LOOK_AGAIN_MS = 1000;
const DELETE_DEADLINE_MS = 24 * 3600 * 1000;

export function workerRemove(builders: Builders): OperationKind {
  return {
    name: WORKER_REMOVE,
    steps: VICTIM_STEPS.filter((step) => step !== 'await-others'),
    cancel: {
      kind: 'does',
      what: 'no pod is evicted and no Node deleted any more, and workers whose Node is there are given back',
    },
    retry: { kind: 'does', what: 'the same workers are drained and removed, with a new deadline' },
    plan: (fleet, items, nowMs) => {
      const batch = lazyBatch(fleet, items);
      return items.flatMap((item) => planItem({ fleet, item, nowMs }, { batch, builders }));
    },
    observe: (item, outcome, { fleet, nowMs }) => {
      const worker = findVictim(fleet, item);
      if (worker === undefined) return failSuperseded(item);
      return observe({ fleet, item, worker, nowMs, by: BY }, outcome);
    },
    undo: (fleet, item, nowMs) => undoVictim(fleet, item, { by: BY, nowMs }),
    itemsToWake,
  };
}

interface Context {
  readonly batch: () => WorkerBatch;
  readonly builders: Builders;
}

type PlannedItem = Pick<Victim, 'fleet' | 'item' | 'nowMs'>;

function planItem({ fleet, item, nowMs }: PlannedItem, { batch, builders }: Context): readonly PlannedStep[] {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return [failSuperseded(item)];
  const victim: Victim = { fleet, item, worker, nowMs, by: BY };
  const { state, step } = item.doc;
  // Its Node is gone: a retry does not look for pods any more.
  if (state === 'pending' && worker.doc.state === 'removing' && worker.doc.nodeUid === undefined)
    return [record(item, { state: 'running', step: 'delete-node' })];
  if (state === 'pending' || !REMOVAL_STEPS.includes(step)) return planDrainPart(victim, batch);
  switch (step as VictimStep) {
    case 'detach':
      return planDetach(victim, batch);
    case 'delete-node':
      return planDeletion(victim);
    case 'leave':
      return planLeaving(victim, 'confirm');
    case 'delete-instance':
      return [decideLater(item, (at, atMs) => [decideDeletion({ fleet: at, item, nowMs: atMs }, builders)])];
    case 'await-instance':
      return [awaitInstance(victim)];
    default:
      return planConfirmation(victim);
  }
}

const REMOVAL_STEPS: readonly string[] = VICTIM_STEPS.slice(VICTIM_STEPS.indexOf('detach'));

function planDrainPart(victim: Victim, batch: () => WorkerBatch): readonly PlannedStep[] {
  const { fleet, item, nowMs } = victim;
  const drainUntilMs = operationOf(fleet, item).doc.deadlineAtMs - REMOVAL_MS;
  return nowMs <= drainUntilMs ? planVictim(victim, batch) : [failOverdue(item)];
}

function planDetach(victim: Victim, batch: () => WorkerBatch): readonly PlannedStep[] {
  const { item, worker, nowMs } = victim;
  const others = waitForOthers(victim, batch(), 'detach');
  if (others !== undefined) return others;
  if (!isDue(item, nowMs)) return [];
  return [act(item, { op: 'confirm-drained', ...refOf(worker.doc), policy: policyOf(worker.doc) })];
}

/** That it may be gone is known before it is deleted: whoever cancels meanwhile looks first whether it is left. */
function planDeletion(victim: Victim): readonly PlannedStep[] {
  const { item, worker, nowMs } = victim;
  if (worker.doc.state !== 'removing')
    return [changeWorker(victim, { state: 'running', step: 'delete-node' }, beginRemoval(worker.doc, noteOf(victim)))];
  return isDue(item, nowMs) ? [act(item, { op: 'delete', ...refOf(worker.doc) })] : [];
}

function observe(victim: Victim, outcome: ActionOutcome): RecordStep {
  const { fleet, item, worker } = victim;
  if (!REMOVAL_STEPS.includes(item.doc.step))
    return observeVictim(victim, outcome, { afterDrained: finishDrainPart, continueWithoutNode: skipDrain });
  const step = item.doc.step as VictimStep;
  if (step === 'leave') return observeLeaving(victim, outcome, 'confirm');
  const result = readNodeResult(outcome);
  if (result.kind === 'drained') return observeDrained(victim, result);
  if (result.kind !== 'deleted') return observeOther(victim, result) ?? record(item, { state: 'running', step });
  if (step === 'confirm') {
    const changes = [remove(WORKER, worker.id), ...removeReport(fleet, worker.id), ...removeLog(fleet, worker.id)];
    return record(
      item,
      { state: 'done', step },
      { changes, expects: [{ kind: WORKER.name, id: worker.id, revision: worker.revision }] },
    );
  }
  return changeWorker(
    victim,
    { state: 'running', step: nextAfterNode(victim) },
    forgetNode(worker.doc, noteOf(victim)),
  );
}

function finishDrainPart(victim: Victim): RecordStep {
  const { fleet, worker } = victim;
  const drained = finishDrain(worker.doc, noteOf(victim));
  return changeWorker(victim, { state: 'running', step: 'detach' }, drained, removeReport(fleet, worker.id));
}

/** It has no Node: nothing is on it, and one that never joined is not drained either. */
function skipDrain(victim: Victim): RecordStep {
  const { item, worker } = victim;
  const wasInService = worker.doc.state === 'in-service' || worker.doc.state === 'draining';
  return wasInService ? finishDrainPart(victim) : record(item, { state: 'running', step: 'detach' });
}

/** Drained anew where pods have come since: no Node is deleted with one that must leave. */
function observeDrained(victim: Victim, seen: Extract<NodeResult, { kind: 'drained' }>): RecordStep {
  const { item, worker } = victim;
  if (worker.doc.cordon !== undefined && !seen.isUnschedulable) return failUncordoned(victim);
  if (seen.left > 0) return record(item, { state: 'running', step: 'inspect' });
  return observeVolumes(victim, seen.attached);
}

function observeVolumes({ item, worker, nowMs }: Victim, attached: number): RecordStep {
  const before = item.doc.reason;
  const sinceMs = before?.code === VOLUMES_ATTACHED ? Number(before['sinceMs']) : nowMs;
  if (attached === 0 || nowMs - sinceMs >= DETACH_MAX_MS)
    return record(item, { state: 'running', step: 'delete-node' });
  return wait(item, { code: VOLUMES_ATTACHED, worker: worker.id, attached, sinceMs }, nowMs + LOOK_AGAIN_MS);
}

const VOLUMES_ATTACHED = 'volumes-attached';

function nextAfterNode({ worker }: Victim): VictimStep {
  const { instance, work } = worker.doc;
  if (instance === undefined) return 'confirm';
  return work?.keepsInstance === true ? 'leave' : 'delete-instance';
}

function decideDeletion({ fleet, item, nowMs }: PlannedItem, builders: Builders): RecordStep {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return failSuperseded(item);
  const { instance } = worker.doc;
  if (instance === undefined || !hasInstance(fleet, instance))
    return record(item, { state: 'running', step: 'confirm' });
  const { by } = operationOf(fleet, item).doc;
  const operation = idOf(OPERATION, `${item.id}.delete`);
  const command = { ids: [instance], operation, by, nowMs, deadlineMs: DELETE_DEADLINE_MS };
  const decision = deleteInstances(fleet, command, builders);
  if (decision.kind === 'refuse') {
    const { code, message } = decision.refusal;
    return fail(item, { code: 'instance-not-deleted', worker: worker.id, instance, why: code, text: message });
  }
  return record(item, { state: 'running', step: 'await-instance' }, { changes: decision.changes });
}

function awaitInstance({ fleet, item, worker }: Victim): RecordStep {
  const { instance } = worker.doc;
  if (instance === undefined || !hasInstance(fleet, instance))
    return record(item, { state: 'running', step: 'confirm' });
  return wait(item, { code: 'instance-deleting', worker: worker.id, instance });
}

function hasInstance(fleet: FleetReader, id: string): boolean {
  return fleet.get(INSTANCE, idOf(INSTANCE, id)) !== undefined;
}

function planConfirmation({ item, worker, nowMs }: Victim): readonly PlannedStep[] {
  const { cluster, node, providerId } = worker.doc;
  const own = { cluster, node, ...(providerId !== undefined && { providerId }) };
  return isDue(item, nowMs) ? [act(item, { op: 'confirm-deleted', ...own })] : [];
}
