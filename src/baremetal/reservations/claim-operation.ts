// The operation `reservation-claim`: claims the chosen node at its inventory, takes the next one when it is lost, and gives back what is not needed
// any more. It continues after a crash from the node that is held; repeating a claim has no effect.
import {
  decideLater,
  retryWithBackoff,
  type ActionOutcome,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { listRequestedTraits } from '../matching/match.ts';
import { nodeIndexOf } from '../matching/node-index.ts';
import {
  abandonAllocation,
  allocationOf,
  beginRound,
  failUnanswered,
  giveBack,
  isOverdue,
  isWanted,
  RESERVATION_CLAIM,
  settleClaimed,
  settleLost,
  stopWaiting,
  type AllocationStep,
} from './allocation.ts';
import { CLAIMS_DRIVER, readClaimResult, type ClaimOrder } from './claim-order.ts';
import type { StoredNode } from '../nodes/transitions.ts';
import { requestOf } from './search.ts';

const CLAIM_BACKOFF = { firstMs: 250, longestMs: 2000 };
const UNCLAIM_BACKOFF = { firstMs: 1000, longestMs: 60_000 };
/** Longer than an inventory takes that answers at all. */
const CALL_MAX_MS = 5000;

export const reservationClaim: OperationKind = {
  name: RESERVATION_CLAIM,
  steps: ['claim', 'choose', 'unclaim'],
  cancel: {
    kind: 'none',
    because: 'its claim has to be settled; release the reservation with "muster baremetal reservations release"',
  },
  retry: { kind: 'none', because: 'whoever wants a node asks for it again' },
  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem({ fleet, item, nowMs })),
  observe: (item, outcome, { fleet, nowMs }) => {
    const step = { fleet, item, nowMs };
    return item.doc.step === 'unclaim' ? observeUnclaim(step, outcome) : observeClaim(step, outcome);
  },
  onDeadline: (fleet, item, nowMs) => abandonAllocation({ fleet, item, nowMs }),
};

function planItem(step: AllocationStep): readonly PlannedStep[] {
  const { fleet, item, nowMs } = step;
  const isNeeded = isWanted(allocationOf(fleet, item));
  const isDue = item.doc.state !== 'waiting' || nowMs >= (item.doc.retryAtMs ?? 0);
  switch (item.doc.step) {
    case 'claim':
      if (!isNeeded) return [decide(item, giveBack)];
      return isDue ? actOn(step, 'claim') : [];
    case 'choose':
      return isDue || !isNeeded ? [decide(item, beginRound)] : [];
    default:
      return isDue ? actOn(step, 'unclaim') : [];
  }
}

function decide(item: StoredItem, settle: (step: AllocationStep) => RecordStep): PlannedStep {
  return decideLater(item, (fleet, nowMs) => [settle({ fleet, item, nowMs })]);
}

function actOn({ fleet, item, nowMs }: AllocationStep, op: ClaimOrder['op']): readonly PlannedStep[] {
  const { node, reservation } = allocationOf(fleet, item);
  // Its node is released in the commit that ends the item.
  if (node === undefined) return [];
  const hardware = nodeIndexOf(fleet).hardwareOf(node);
  const traits =
    reservation === undefined ? [] : listRequestedTraits(requestOf(reservation.doc).requirements, hardware);
  return [claimAction(item, node, { op, instance: item.doc.target.id, traits, nowMs })];
}

interface ClaimCall extends Pick<ClaimOrder, 'op' | 'instance' | 'traits'> {
  readonly nowMs: number;
}

export function claimAction(item: StoredItem, node: StoredNode, { nowMs, ...call }: ClaimCall): PlannedStep {
  const order: ClaimOrder = {
    ...call,
    inventory: node.doc.inventory,
    node: node.id,
    nodeEpoch: node.doc.epoch,
    deadlineAtMs: nowMs + CALL_MAX_MS,
  };
  const { step, attempt } = item.doc;
  const action = { driver: CLAIMS_DRIVER, item: item.id, step, attempt, args: { ...order } };
  return { kind: 'act', item: item.id, expected: item.revision, action };
}

function observeClaim(step: AllocationStep, outcome: ActionOutcome): RecordStep {
  const result = readClaimResult(outcome);
  switch (result.kind) {
    case 'claimed':
      return settleClaimed(step);
    case 'free':
      return settleLost(step);
    case 'unanswered':
      if (!isWanted(allocationOf(step.fleet, step.item))) return giveBack(step);
      if (isOverdue(step)) return failUnanswered(step, result.reason);
      return waitForAnswer(step, result, CLAIM_BACKOFF);
  }
}

function observeUnclaim(step: AllocationStep, outcome: ActionOutcome): RecordStep {
  const result = readClaimResult(outcome);
  if (result.kind !== 'unanswered') return settleLost(step);
  const waiting = waitForAnswer(step, result, UNCLAIM_BACKOFF);
  return isWanted(allocationOf(step.fleet, step.item)) && isOverdue(step)
    ? { ...waiting, changes: stopWaiting(step, result.reason) }
    : waiting;
}

/** An inventory that is busy says when to come back. */
export function waitForAnswer(
  { item, nowMs }: Pick<AllocationStep, 'item' | 'nowMs'>,
  { reason, retryAfterMs = 0 }: Extract<ReturnType<typeof readClaimResult>, { kind: 'unanswered' }>,
  policy: typeof CLAIM_BACKOFF,
): RecordStep {
  const waiting = retryWithBackoff(item, reason, { nowMs, policy });
  const retryAtMs = Math.max(waiting.progress.retryAtMs ?? 0, nowMs + retryAfterMs);
  return { ...waiting, progress: { ...waiting.progress, retryAtMs } };
}
