// Takes an instance off its node: a node on which nothing was done yet is free at once, any other is disconnected and cleaned first. A node that cannot
// be cleaned stays out of service with an alarm, and the reservation ends all the same.
import { idOf, put, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import {
  decideLater,
  ITEM,
  record,
  retryWithBackoff,
  shortenText,
  type PlannedStep,
  type Progress,
  type RecordStep,
  type StoredItem,
  type Task,
  type TaskAnswer,
} from '../../operations/index.ts';
import { MACHINE_NOT_OURS } from '../drivers/inventory.ts';
import { NODE, RESERVATION, type NodeFault } from '../model.ts';
import { CLEAN_FAILED, raiseCleanFailed } from '../nodes/clean-failed-alarm.ts';
import { abandonClean, beginClean, failClean, type StoredNode } from '../nodes/transitions.ts';
import { beginRelease, endReservation, type Release } from '../reservations/release.ts';
import { nodeOfInstance, requireNode } from './node-of.ts';
import { planWithManager, retryReason, sinceEpochOf, stepReason } from './step-facts.ts';

const DISCONNECT_STEP = 'disconnect';
const CLEAN_STEP = 'clean';
/** The reservation ends at its inventory. */
const RELEASE_STEP = 'release';
export const TEARDOWN_STEPS: readonly string[] = [DISCONNECT_STEP, CLEAN_STEP, RELEASE_STEP];

/** A machine that was not cleaned after so many tries needs an operator. */
const CLEAN_TRIES_MAX = 3;

const GIVEN_BACK = 'claim-given-back';

/** What is committed once nothing of the instance is on a node any more. */
export type TeardownFinisher = (
  fleet: FleetReader,
  item: StoredItem,
  nowMs: number,
) => { readonly progress: Progress; readonly changes: readonly Change[] };

export interface Teardown {
  readonly item: StoredItem;
  /** Whose node it is: the id of the reservation. */
  readonly instance: string;
  readonly by: string;
  readonly nowMs: number;
  readonly finish: TeardownFinisher;
}

export interface BeginTeardown extends Teardown {
  /** Its ports may be connected at the node. */
  readonly isConnected: boolean;
  /** Why it is cleaned, when its deploy failed. */
  readonly fault?: NodeFault | undefined;
}

/** Begins it, or is done with it at once. Decided inside the commit. */
export function beginTeardown(fleet: FleetReader, teardown: BeginTeardown): RecordStep {
  const { item, instance, by, nowMs, fault, isConnected } = teardown;
  const node = nodeOfInstance(fleet, instance);
  if (node === undefined) return endWithoutNode(fleet, teardown);
  if (node.doc.state === 'reserved') return endWith(fleet, teardown, endReservation(fleet, node, { by, nowMs }));
  const doc = requireNode(beginClean(node, { by, nowMs, ...(fault !== undefined && { fault }) }));
  const step = isConnected ? DISCONNECT_STEP : CLEAN_STEP;
  const reason = stepReason(step, { ...node, doc });
  return record(item, { ...nextProgress(item, step), reason }, { changes: [put(NODE, node.id, doc)] });
}

/** Attempts are counted over all steps: an answer to an earlier task never counts for a later one. */
function nextProgress({ doc }: StoredItem, step: string): Progress {
  return { state: 'running', step, attempt: doc.attempt + 1, assignee: null };
}

/** There is a reservation without a node where it failed, or where a claim is under way at an inventory. */
function endWithoutNode(fleet: FleetReader, teardown: Teardown): RecordStep {
  const { instance, by, nowMs } = teardown;
  const stored = fleet.get(RESERVATION, idOf(RESERVATION, instance));
  if (stored === undefined) return finishTeardown(fleet, teardown, []);
  return endWith(fleet, teardown, beginRelease(fleet, stored, { by, nowMs }));
}

/** What was claimed at an inventory is given back first: the reservation is gone when that is done. */
function endWith(fleet: FleetReader, teardown: Teardown, { kind, changes }: Release): RecordStep {
  if (kind === 'released') return finishTeardown(fleet, teardown, changes);
  const { item, instance } = teardown;
  const reason = { code: GIVEN_BACK, instance };
  return record(item, { ...nextProgress(item, RELEASE_STEP), state: 'waiting', reason }, { changes });
}

function finishTeardown(fleet: FleetReader, { item, nowMs, finish }: Teardown, before: readonly Change[]): RecordStep {
  const { progress, changes } = finish(fleet, item, nowMs);
  return record(item, progress, { changes: [...before, ...changes] });
}

export function planTeardown(fleet: FleetReader, teardown: Teardown): readonly PlannedStep[] {
  const { item, instance, nowMs } = teardown;
  const node = nodeOfInstance(fleet, instance);
  if (node === undefined) {
    // What gives the node back at its inventory is an operation of its own.
    const { state } = fleet.get(RESERVATION, idOf(RESERVATION, instance))?.doc ?? {};
    return state === 'releasing' && item.doc.step === RELEASE_STEP
      ? []
      : [decideLater(item, (at, atMs) => finishAlone(at, { ...teardown, nowMs: atMs }))];
  }
  const { state, retryAtMs, step, reason } = item.doc;
  if (state === 'waiting' && retryAtMs !== undefined) {
    if (nowMs < retryAtMs) return [];
    const again = { ...stepReason(step, node), tries: reason?.['tries'] };
    return [record(item, { state: 'running', step, reason: again })];
  }
  return planWithManager(fleet, item, node);
}

/** The node is free already, or its inventory has taken back the claim. */
function finishAlone(fleet: FleetReader, teardown: Teardown): readonly RecordStep[] {
  const { instance } = teardown;
  const item = fleet.get(ITEM, teardown.item.id);
  if (item === undefined || nodeOfInstance(fleet, instance) !== undefined) return [];
  return [endWithoutNode(fleet, { ...teardown, item })];
}

export function composeTeardownTask(item: StoredItem): Omit<Task, 'id'> | undefined {
  const { step, retryAtMs } = item.doc;
  if ((step !== DISCONNECT_STEP && step !== CLEAN_STEP) || retryAtMs !== undefined) return undefined;
  return { kind: step, args: { sinceEpoch: sinceEpochOf(item) } };
}

export function handleTeardownAnswer(fleet: FleetReader, teardown: Teardown, answer: TaskAnswer): RecordStep {
  const { item, instance, by, nowMs } = teardown;
  const node = nodeOfInstance(fleet, instance);
  if (node === undefined) return endWithoutNode(fleet, teardown);
  if (answer.outcome === 'failed') return handleTeardownFailure(fleet, teardown, { node, answer });
  if (item.doc.step === DISCONNECT_STEP) return beginCleanStep(item, node);
  return endWith(fleet, teardown, endReservation(fleet, node, { by, nowMs }));
}

function beginCleanStep(item: StoredItem, node: StoredNode): RecordStep {
  return record(item, { ...nextProgress(item, CLEAN_STEP), reason: stepReason(CLEAN_STEP, node) });
}

/** Another try would get the same answer: the machine is another's, or is not claimed for the instance any more. */
function isNotOurs({ facts }: TaskAnswer): boolean {
  const { code } = (facts?.['reason'] ?? {}) as { readonly code?: unknown };
  return code === MACHINE_NOT_OURS;
}

function handleTeardownFailure(
  fleet: FleetReader,
  teardown: Teardown,
  { node, answer }: { readonly node: StoredNode; readonly answer: TaskAnswer },
): RecordStep {
  const { item, nowMs } = teardown;
  const { problems = [] } = answer;
  const text = shortenText(problems.length === 0 ? 'its driver did not say why' : problems.join('; '), 500);
  if (isNotOurs(answer)) {
    // It may be clean for all that: nothing of the instance is connected there that may be touched.
    if (item.doc.step === DISCONNECT_STEP) return beginCleanStep(item, node);
    return finishTeardown(fleet, teardown, abandonNode(fleet, teardown, { node, text }));
  }
  const tries = Number(item.doc.reason?.['tries'] ?? 0) + 1;
  if (tries >= CLEAN_TRIES_MAX) return finishTeardown(fleet, teardown, abandonNode(fleet, teardown, { node, text }));
  return retryWithBackoff(item, { ...retryReason('clean-retried', node), tries, text }, { nowMs });
}

function abandonNode(
  fleet: FleetReader,
  { instance, by, nowMs }: Teardown,
  { node, text }: { readonly node: StoredNode; readonly text: string },
): Change[] {
  const fault: NodeFault = { code: CLEAN_FAILED, message: text, atMs: nowMs };
  const failed = requireNode(failClean(node, { by, nowMs, fault }));
  const abandoned = requireNode(abandonClean({ ...node, doc: failed }, { by, nowMs }));
  const alarm = raiseCleanFailed(fleet, node, { instance, text, nowMs });
  return [put(NODE, node.id, abandoned), remove(RESERVATION, idOf(RESERVATION, instance)), ...alarm];
}
