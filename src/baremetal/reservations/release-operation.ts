// The operation `reservation-release`: cleans the node of a reservation that was released, and has its inventory take back the claim. It is remembered until
// it is done, whoever is away meanwhile; instances that Muster builds are taken off their nodes by operations of their own.
import { idOf, put, remove, type FleetReader } from '../../fleet/index.ts';
import {
  decideLater,
  ITEM,
  record,
  type ActionOutcome,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import {
  beginTeardown,
  composeTeardownTask,
  handleTeardownAnswer,
  planTeardown,
  TEARDOWN_STEPS,
  type Teardown,
} from '../builder/teardown.ts';
import { NODE, RESERVATION } from '../model.ts';
import { endClaim } from '../nodes/transitions.ts';
import { itemsOnManagedNodes } from '../builder/wake.ts';
import { claimAction, waitForAnswer } from './claim-operation.ts';
import { readClaimResult } from './claim-order.ts';
import { reservationId } from './documents.ts';
import { RESERVATION_RELEASE } from './release.ts';

const BY = `operation:${RESERVATION_RELEASE}`;
const UNCLAIM_BACKOFF = { firstMs: 1000, longestMs: 60_000 };

export const reservationRelease: OperationKind = {
  name: RESERVATION_RELEASE,
  steps: ['stop', ...TEARDOWN_STEPS, 'unclaim'],
  cancel: { kind: 'none', because: 'a release is remembered until it is done; request another node instead' },
  retry: { kind: 'does', what: 'the machine is cleaned again, and what is left is released' },
  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  observe: (item, outcome, { fleet, nowMs }) => observeUnclaim(fleet, item, outcome, nowMs),
  task: (item) => composeTeardownTask(item),
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleTeardownAnswer(fleet, teardownOf(item, nowMs), answer),
  itemsToWake: itemsOnManagedNodes,
};

/** Its key in the operation. */
function instanceOf({ id, doc: { operation } }: StoredItem): string {
  return id.slice(operation.length + 1);
}

function teardownOf(item: StoredItem, nowMs: number): Teardown {
  return { item, instance: instanceOf(item), by: BY, nowMs, finish: finishTeardown };
}

const finishTeardown: Teardown['finish'] = (_fleet, item) => ({
  progress: { state: 'done', step: item.doc.step, assignee: null },
  changes: [],
});

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const { step, state, retryAtMs = 0, target } = item.doc;
  if (step === 'unclaim') {
    const node = fleet.get(NODE, idOf(NODE, target.id));
    const isHeld = node?.doc.claimedFor === instanceOf(item);
    if (node === undefined || !isHeld) return [decideLater(item, (at) => [finishUnclaim(at, item, nowMs)])];
    const isDue = state !== 'waiting' || nowMs >= retryAtMs;
    return isDue ? [claimAction(item, node, { op: 'unclaim', instance: instanceOf(item), traits: [], nowMs })] : [];
  }
  if (step !== 'stop') return planTeardown(fleet, teardownOf(item, nowMs));
  return [
    decideLater(item, (at, atMs): readonly RecordStep[] => {
      const current = at.get(ITEM, item.id);
      if (current === undefined) return [];
      return [beginTeardown(at, { ...teardownOf(current, atMs), isConnected: false })];
    }),
  ];
}

function observeUnclaim(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  const result = readClaimResult(outcome);
  return result.kind === 'unanswered'
    ? waitForAnswer({ item, nowMs }, result, UNCLAIM_BACKOFF)
    : finishUnclaim(fleet, item, nowMs);
}

/** The node is offered again, and the reservation is gone. */
function finishUnclaim(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const instance = instanceOf(item);
  const node = fleet.get(NODE, idOf(NODE, item.doc.target.id));
  const stored = fleet.get(RESERVATION, reservationId(instance));
  const isOwn = stored?.doc.operation === item.doc.operation;
  const changes = [
    ...(node?.doc.claimedFor === instance ? [put(NODE, node.id, endClaim(node, { by: BY, nowMs }))] : []),
    ...(isOwn ? [remove(RESERVATION, stored.id)] : []),
  ];
  return record(item, { state: 'done', step: item.doc.step }, { changes });
}
