// Allocation: the claim of a node at its inventory. A node is held from when it is chosen, under an epoch of its own, until the inventory has
// said what became of the claim; what is not known is requested again, or given back. Going through the nodes ends after some rounds, and within seconds.
import {
  mark,
  put,
  remove,
  runTrial,
  type Change,
  type FleetReader,
  type Reason,
  type Refusal,
  type ChangeNote,
} from '../../fleet/index.ts';
import {
  expectUnchanged,
  formatFact,
  newOperation,
  record,
  type ExpectedRevision,
  type OperationId,
  type Progress,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { takeForBuild } from '../builder/build-reservation.ts';
import { chooseNode } from '../matching/choose.ts';
import {
  bucketOf,
  NODE,
  NODES_BY_CLAIM,
  RESERVATION,
  TRIED_NODES_MAX,
  type Allocation,
  type Reservation,
} from '../model.ts';
import { beginClaim, beginUnclaim, endClaim, type StoredNode } from '../nodes/transitions.ts';
import { failReservation, reservationId, takeNode, type StoredReservation } from './documents.ts';
import { requireNode } from '../builder/node-of.ts';
import { countAllStages, requestOf, searchFor } from './search.ts';
import { demandOf, noMatch } from './stage-sentences.ts';

export const RESERVATION_CLAIM = 'reservation-claim';

/** All of it, from the request on: the caller no longer waits by then. */
const ALLOCATION_MAX_MS = 10_000;
/** How often the nodes that match are gone through: a node that was being claimed may have been released since. */
const ROUNDS_MAX = 3;
const ROUND_PAUSE_MS = 1000;
/** Inventories are back within a day; after it a node is offered again, whatever became of its claim. */
const SETTLED_WITHIN_MS = 24 * 3600 * 1000;

export interface NewAllocation extends ChangeNote {
  readonly reservation: Reservation;
  readonly node: StoredNode;
  readonly managerEpoch: number;
  readonly operation: OperationId;
}

export function beginAllocation({ reservation, node, managerEpoch, operation, by, nowMs }: NewAllocation): Change[] {
  const { instance, project } = reservation;
  const id = reservationId(instance);
  const allocation: Allocation = { managerEpoch, round: 1, tried: [], lost: 0 };
  const target = { kind: RESERVATION.name, id };
  return [
    put(RESERVATION, id, { ...reservation, state: 'allocating', operation, allocation }),
    put(NODE, node.id, requireNode(beginClaim(node, { instance, by, nowMs }))),
    ...newOperation({
      id: operation,
      kind: RESERVATION_CLAIM,
      title: `claim a node for ${instance}`,
      by,
      ...(project !== undefined && { project }),
      site: node.doc.site,
      nowMs,
      deadlineMs: SETTLED_WITHIN_MS,
      items: [{ key: 'claim', target, step: 'claim', state: 'running' }],
    }),
  ];
}

/** What an item works on now. */
export interface AllocationState {
  /** Held for the instance. */
  readonly node: StoredNode | undefined;
  /** Undefined when it is gone, has failed, or is that of a later request. */
  readonly reservation: StoredReservation | undefined;
}

export function allocationOf(fleet: FleetReader, { doc: { target, operation } }: StoredItem): AllocationState {
  const [node] = fleet.find(NODES_BY_CLAIM, target.id);
  const stored = fleet.get(RESERVATION, reservationId(target.id));
  return { node, reservation: stored?.doc.operation === operation ? stored : undefined };
}

/** Whether its node is still needed. */
export function isWanted({ reservation }: AllocationState): boolean {
  return reservation?.doc.state === 'allocating';
}

export interface AllocationStep {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly nowMs: number;
}

const BY = `operation:${RESERVATION_CLAIM}`;

function changeOf({ nowMs }: AllocationStep): ChangeNote {
  return { by: BY, nowMs };
}

/** The claim holds: the reservation is active, if it is still needed and the node can still be used. */
export function settleClaimed(step: AllocationStep): RecordStep {
  const { fleet, item } = step;
  const { node, reservation } = allocationOf(fleet, item);
  if (node === undefined) return finishItem(step, []);
  if (reservation?.doc.state !== 'allocating' || !isReservable(node, changeOf(step))) return giveBack(step);
  const forBuild = takeForBuild(fleet, { reservation: reservation.doc, node, ...changeOf(step) });
  if (forBuild.kind === 'fault') return giveBack(step);
  const { managerEpoch = 1 } = reservation.doc.allocation ?? {};
  const { requirements } = requestOf(reservation.doc);
  const taken = { node, reservation: reservation.doc, managerEpoch, requirements, ...changeOf(step) };
  return finishItem(step, [...takeNode(fleet, taken), ...forBuild.changes]);
}

/** It may have gone into maintenance during the claim. */
function isReservable(node: StoredNode, change: ChangeNote): boolean {
  return bucketOf(endClaim(node, change)) === 'free';
}

/** No claim stands on the node: the next one is tried, if one is still needed. */
export function settleLost(step: AllocationStep): RecordStep {
  const { fleet, item } = step;
  const { node, reservation } = allocationOf(fleet, item);
  mark('claim-settled-without-node');
  const freed = node === undefined ? [] : [put(NODE, node.id, endClaim(node, changeOf(step)))];
  if (reservation === undefined) return finishItem(step, freed);
  if (reservation.doc.state !== 'allocating') return finishItem(step, [...freed, remove(RESERVATION, reservation.id)]);
  // Counted and chosen on the fleet in which the lost node is free again; it is passed over all the same.
  return runTrial(fleet, (trial) => {
    trial.add(freed);
    const next = chooseNext({ ...step, fleet: trial }, reservation, node?.id);
    return { ...next, changes: [...freed, ...next.changes] };
  });
}

/** Tries the next node in the round after a pause. */
export function beginRound(step: AllocationStep): RecordStep {
  const { reservation } = allocationOf(step.fleet, step.item);
  if (reservation === undefined) return finishItem(step, []);
  if (reservation.doc.state !== 'allocating') return finishItem(step, [remove(RESERVATION, reservation.id)]);
  return chooseNext(step, reservation, undefined);
}

function chooseNext(step: AllocationStep, { id, doc }: StoredReservation, lost: string | undefined): RecordStep {
  const { fleet, item, nowMs } = step;
  const before = doc.allocation as Allocation;
  const allocation: Allocation = {
    ...before,
    tried: lost === undefined ? before.tried : [...before.tried, lost],
    lost: before.lost + (lost === undefined ? 0 : 1),
  };
  const search = searchFor(fleet, { request: requestOf(doc), project: doc.project, site: doc.site });
  if ('code' in search) return failAllocation(step, { id, doc }, { reason: search });
  const isOver = nowMs >= doc.createdAtMs + ALLOCATION_MAX_MS || allocation.lost >= TRIED_NODES_MAX;
  const except = new Set([...search.except, ...allocation.tried]);
  const chosen = isOver ? undefined : chooseNode(fleet, { ...search, except });
  if (chosen !== undefined) {
    const node = fleet.get(NODE, chosen) as StoredNode;
    const claimed = requireNode(beginClaim(node, { instance: doc.instance, ...changeOf(step) }));
    const progress: Progress = { state: 'running', step: 'claim', attempt: item.doc.attempt + 1 };
    const changes = [put(NODE, chosen, claimed), put(RESERVATION, id, { ...doc, allocation })];
    return record(item, progress, { changes });
  }
  if (!isOver && allocation.tried.length > 0 && allocation.round < ROUNDS_MAX) {
    const next: Allocation = { ...allocation, round: allocation.round + 1, tried: [] };
    const reason = { code: 'nodes-contended', instance: doc.instance, lost: allocation.lost };
    const progress: Progress = { state: 'waiting', step: 'choose', reason, retryAtMs: nowMs + ROUND_PAUSE_MS };
    return record(item, progress, { changes: [put(RESERVATION, id, { ...doc, allocation: next })] });
  }
  const stages = countAllStages(fleet, search);
  const reason = noMatch(doc.instance, stages, demandOf(requestOf(doc), doc.project));
  return failAllocation(step, { id, doc }, { reason, stages });
}

interface AllocationFailure {
  readonly reason: Pick<Refusal, 'code' | 'message'>;
  readonly stages?: Reservation['stages'];
}

function failAllocation(
  step: AllocationStep,
  { id, doc }: Pick<StoredReservation, 'id' | 'doc'>,
  failure: AllocationFailure,
): RecordStep {
  const failed = failReservation(doc, { ...failure, ...changeOf(step) });
  const reason = { code: 'reservation-failed', instance: doc.instance, because: failure.reason.message };
  // Its claims are settled: that there is no node for it is said by the reservation.
  const progress: Progress = { state: 'done', step: step.item.doc.step, reason };
  return record(step.item, progress, { changes: [put(RESERVATION, id, failed)] });
}

/** The caller no longer waits. */
export function isOverdue({ fleet, item, nowMs }: AllocationStep): boolean {
  const { reservation } = allocationOf(fleet, item);
  return reservation !== undefined && nowMs >= reservation.doc.createdAtMs + ALLOCATION_MAX_MS;
}

/** Its reservation fails now; what may have been claimed is given back for as long as it takes. */
export function failUnanswered(step: AllocationStep, because: Reason): RecordStep {
  mark('claim-unanswered');
  const back = giveBack(step);
  return { ...back, changes: [...back.changes, ...stopWaiting(step, because)] };
}

export function stopWaiting(step: AllocationStep, because: Reason): Change[] {
  const { reservation, node } = allocationOf(step.fleet, step.item);
  if (reservation === undefined) return [];
  const message = `The inventory of node "${node?.id ?? ''}" did not answer in time (${formatFact(because['message'] ?? because.code)}). Repeat the request once it does.`;
  const reason = { code: 'claim-unanswered', message };
  return [put(RESERVATION, reservation.id, failReservation(reservation.doc, { reason, ...changeOf(step) }))];
}

/** Under an epoch of its own: a claim that arrives later than this is older. */
export function giveBack(step: AllocationStep): RecordStep {
  const { node } = allocationOf(step.fleet, step.item);
  if (node === undefined) return finishItem(step, []);
  mark('claim-given-back');
  const held = requireNode(beginUnclaim(node, changeOf(step)));
  const progress: Progress = { state: 'running', step: 'unclaim', attempt: 1 };
  return record(step.item, progress, { changes: [put(NODE, node.id, held)] });
}

function finishItem({ item }: AllocationStep, changes: readonly Change[]): RecordStep {
  return record(item, { state: 'done', step: item.doc.step }, { changes });
}

/** No caller waits for an answer any more: the node is offered again, and the inventory says what is true of it. */
export function abandonAllocation(step: AllocationStep): Pick<RecordStep, 'changes' | 'expects'> {
  const { node, reservation } = allocationOf(step.fleet, step.item);
  const changes: Change[] = [];
  const expects: ExpectedRevision[] = [];
  if (node !== undefined) {
    changes.push(put(NODE, node.id, endClaim(node, changeOf(step))));
    expects.push(expectUnchanged(NODE, node));
  }
  if (reservation !== undefined) {
    changes.push(remove(RESERVATION, reservation.id));
    expects.push(expectUnchanged(RESERVATION, reservation));
  }
  return { changes, expects };
}
