// The operation `worker-add`: builds an instance for each new worker and has it join, until its Node is Ready and says that it is this worker's. What a script printed
// proves nothing. A retry continues with the workers that are not in service, and builds nothing again that runs.
import { idOf, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import type { Builders } from '../../instances/index.ts';
import {
  decideLater,
  fail,
  isOpen,
  ITEMS_BY_OPERATION,
  OPERATION,
  record,
  type ActionOutcome,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { failSuperseded, isDue, noteOf, changeWorker } from '../drain/victim-steps.ts';
import { itemsToWake as itemsOfVictims } from '../drain/wake.ts';
import { limitJoin } from '../workers/transitions.ts';
import { waitForInstance, planBuild, planInstance } from './build-steps.ts';
import { WORKER_ADD, JOINS_AT_ONCE } from './decide.ts';
import { findJoining, hasCapacity, JOIN_STEPS, whenDue, type Joining, type JoinStep } from './joining.ts';
import { observeContact, observeScript, orderContact, orderJoin } from './machine-steps.ts';
import { WORKER_JOIN } from './model.ts';
import { lookAtNode, observeFirstLook, observeLastLook } from './node-steps.ts';
import { observeToken, planToken } from './token-steps.ts';
import { undoJoin } from './undo-join.ts';

export function workerAdd(builders: Builders): OperationKind {
  return {
    name: WORKER_ADD,
    steps: JOIN_STEPS,
    cancel: {
      kind: 'does',
      what: 'joins are stopped, and workers that are not in service yet are removed with the instances that were built for them; the others stay',
    },
    retry: { kind: 'does', what: 'workers that are not in service join again, each on the instance that it has' },
    plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, { nowMs, builders })),
    observe: (item, outcome, { fleet, nowMs }) => {
      const joining = findJoining(fleet, item, nowMs);
      return joining === undefined ? failSuperseded(item) : observe(joining, outcome);
    },
    undo: (fleet, item, nowMs) => undoJoin(fleet, item, nowMs),
    itemsToWake,
  };
}

function planItem(
  fleet: FleetReader,
  item: StoredItem,
  { nowMs, builders }: { readonly nowMs: number; readonly builders: Builders },
): readonly PlannedStep[] {
  const joining = findJoining(fleet, item, nowMs);
  if (joining === undefined) return [failSuperseded(item)];
  const step = item.doc.step as JoinStep;
  if (item.doc.state === 'pending' && step !== 'build') return [record(item, { state: 'running', step: 'build' })];
  if (step === 'build') return planBuild(joining, builders);
  if (step === 'await-instance') return planInstance(joining);
  const held = waitForInstance(joining);
  if (held !== undefined) return [held];
  switch (step) {
    case 'look':
      return isDue(item, nowMs) ? [lookAtNode(joining)] : [];
    case 'queue':
      return [decideLater(item, (at, atMs) => decideTurn(at, item, atMs))];
    case 'token':
      return planToken(joining);
    case 'contact':
      return planMachine(joining, orderContact);
    case 'join':
      return planMachine(joining, orderJoin);
    case 'await-node':
      return whenDue(joining, () => lookAtNode(joining));
  }
}

/** Counted in the commit: two items that see the same capacity do not both take it. */
function decideTurn(fleet: FleetReader, item: StoredItem, nowMs: number): readonly RecordStep[] {
  const joining = findJoining(fleet, item, nowMs);
  if (joining === undefined) return [failSuperseded(item)];
  const { worker, join } = joining;
  if (!hasCapacity(fleet, join.doc.operation)) {
    const reason = { code: 'joins-at-once', worker: worker.id, max: JOINS_AT_ONCE };
    return [record(item, { state: 'waiting', step: 'queue', reason })];
  }
  const doc = limitJoin(worker.doc, nowMs + join.doc.joinDeadlineMs, noteOf(joining));
  return [changeWorker(joining, { state: 'running', step: 'token' }, doc)];
}

function planMachine(joining: Joining, order: (joining: Joining) => PlannedStep): readonly PlannedStep[] {
  return whenDue(joining, () => order(joining));
}

function observe(joining: Joining, outcome: ActionOutcome): RecordStep {
  switch (joining.item.doc.step as JoinStep) {
    case 'look':
      return observeFirstLook(joining, outcome);
    case 'token':
      return observeToken(joining, outcome);
    case 'contact':
      return observeContact(joining, outcome);
    case 'join':
      return observeScript(joining, outcome);
    case 'await-node':
      return observeLastLook(joining, outcome);
    default:
      return fail(joining.item, { code: 'worker-superseded', worker: joining.worker.id });
  }
}

function itemsToWake(fleet: FleetReader, change: AppliedChange): Iterable<StoredItem> {
  if (change.kind !== WORKER_JOIN.name) return itemsOfVictims(fleet, change);
  const id = (change.after ?? change.before)?.id ?? '';
  const items = fleet.find(ITEMS_BY_OPERATION, idOf(OPERATION, id));
  return [...items].filter(({ doc }) => isOpen(doc) && doc.state === 'waiting');
}
