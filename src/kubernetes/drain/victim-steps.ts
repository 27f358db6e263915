// The steps that a drain and a removal have in common: inspect the Node, cordon it and read that back, check that no pod blocks for good, evict. What a victim
// does after its last pod is gone is said by the operation.
import { idOf, mark, put, type Change, type FleetReader, type Reason, type ChangeNote } from '../../fleet/index.ts';
import {
  expectUnchanged,
  fail,
  record,
  wait,
  type ActionOutcome,
  type OperationId,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { DEFAULT_DRAIN_POLICY, WORKER, type Blocker, type DrainPolicy, type Worker } from '../model.ts';
import { beginCordon, confirmCordon, endWork, type StoredWorker } from '../workers/transitions.ts';
import { WorkerBatch, type DrainGate, type VictimStep } from './batch.ts';
import { recordProgress } from './drain-report.ts';
import { NODES_DRIVER, readNodeResult, type NodeOrder, type NodeProgress, type NodeResult } from './node-order.ts';

/** Pods that need no grace are gone in less, and others may be evicted in their place. */
const EVICTED_LOOK_MS = 250;
/** A look each second sees most pods leave. */
const LOOK_AGAIN_MS = 1000;
/** While nothing changes: every look may be a commit. */
const STILL_BLOCKED_MS = 2000;
const AWAY_RETRY_MS = 2000;
/** An API server that fails so often in a row does not fail by chance. */
const SERVER_ERRORS_MAX = 3;

const CORDON_MARKS = { isUnschedulable: true, isExcludedFromLoadBalancers: true };

/** One victim in one operation. */
export interface Victim {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly worker: StoredWorker;
  readonly nowMs: number;
  /** The name of the operation's kind, as the author of its changes. */
  readonly by: string;
}

export function policyOf({ work }: Worker): DrainPolicy {
  return work?.policy ?? DEFAULT_DRAIN_POLICY;
}

export function noteOf({ by, nowMs }: Victim): ChangeNote {
  return { by, nowMs };
}

/** The worker of an item, if the item's operation still has it in hand. */
export function findVictim(fleet: FleetReader, item: StoredItem): StoredWorker | undefined {
  const worker = fleet.get(WORKER, idOf(WORKER, item.doc.target.id));
  return worker?.doc.work?.operation === item.doc.operation ? worker : undefined;
}

/** Another operation has it in hand by now, or it is gone. */
export function failSuperseded(item: StoredItem): RecordStep {
  mark('worker-superseded');
  return fail(item, { code: 'worker-superseded', worker: item.doc.target.id });
}

/** The drain has not ended in its time; what it waited for is kept, and said in full. */
export function failOverdue(item: StoredItem): RecordStep {
  const { reason } = item.doc;
  return fail(item, { ...reason, ...(reason !== undefined && { waitedFor: reason.code }), code: 'deadline-passed' });
}

/** Whether a wait of the item is over. */
export function isDue({ doc: { state, retryAtMs } }: StoredItem, nowMs: number): boolean {
  return state !== 'waiting' || retryAtMs === undefined || nowMs >= retryAtMs;
}

interface NodeReference {
  readonly cluster: string;
  readonly node: string;
  readonly uid?: string;
  readonly providerId?: string;
}

/** The Node of a worker: of one that was not seen yet, whatever is by its name and says that it is this worker's. */
export function refOf({ cluster, node, nodeUid, providerId }: Worker): NodeReference {
  if (nodeUid !== undefined) return { cluster, node, uid: nodeUid };
  return { cluster, node, ...(providerId !== undefined && { providerId }) };
}

/** The next thing to do for a victim that is not drained yet. `gate` is looked at only where a step waits for others. */
export function planVictim(victim: Victim, gate: () => DrainGate): readonly PlannedStep[] {
  const { item, worker, nowMs } = victim;
  const { cordon } = worker.doc;
  const ref = refOf(worker.doc);
  const policy = policyOf(worker.doc);
  if (item.doc.state === 'pending' && item.doc.step !== 'inspect')
    return [record(item, { state: 'running', step: 'inspect' })];
  switch (item.doc.step as VictimStep) {
    case 'inspect':
      return isDue(item, nowMs) ? [act(item, { op: 'inspect', ...ref })] : [];
    case 'cordon':
      if (cordon === undefined) throw new Error(`item ${item.id} is to cordon a Node that was not inspected`);
      return isDue(item, nowMs) ? [act(item, { op: 'mark', ...ref, marks: CORDON_MARKS })] : [];
    case 'check': {
      const others = waitForOthers(victim, gate(), 'check');
      if (others !== undefined) return others;
      return isDue(item, nowMs) ? [act(item, { op: 'check', ...ref, policy })] : [];
    }
    default: {
      const others = waitForOthers(victim, gate(), 'evict');
      if (others !== undefined) return others;
      return isDue(item, nowMs) ? [act(item, { op: 'evict', ...ref, policy })] : [];
    }
  }
}

export function act(item: StoredItem, order: NodeOrder): PlannedStep {
  const { step, attempt } = item.doc;
  const action = { driver: NODES_DRIVER, item: item.id, step, attempt, args: { ...order } };
  return { kind: 'act', item: item.id, expected: item.revision, action };
}

/** Undefined when the item may continue. */
export function waitForOthers(
  { item, worker }: Victim,
  gate: DrainGate,
  step: keyof typeof WAITS,
): readonly PlannedStep[] | undefined {
  const failed = gate.findFailedBefore(step);
  if (failed !== undefined) {
    mark('drain-ends-with-another');
    return [fail(item, { code: 'other-worker-failed', worker: worker.id, other: failed })];
  }
  if (gate.haveReached(step)) return undefined;
  return [wait(item, { code: WAITS[step], worker: worker.id })];
}

/** The steps that wait for the other workers of the operation. */
const WAITS = {
  check: 'others-to-cordon',
  evict: 'others-to-check',
  'await-others': 'others-to-drain',
  detach: 'others-to-drain',
} as const;

export interface ObservedDrain {
  /** The step after the last pod has left. */
  readonly afterDrained: (victim: Victim) => RecordStep;
  /** There is no such Node: nothing is on it. */
  readonly continueWithoutNode: (victim: Victim) => RecordStep;
}

export function observeVictim(victim: Victim, outcome: ActionOutcome, then: ObservedDrain): RecordStep {
  const { item } = victim;
  const result = readNodeResult(outcome);
  switch (result.kind) {
    case 'no-node':
      return then.continueWithoutNode(victim);
    case 'node':
      return observeNode(victim, result, then);
    default:
      return observeOther(victim, result) ?? record(item, { state: 'running', step: item.doc.step });
  }
}

/** Answers that mean the same at each step; undefined for others. */
export function observeOther(victim: Victim, result: NodeResult): RecordStep | undefined {
  const { item, nowMs } = victim;
  if (result.kind === 'replaced') return failReplaced(victim);
  if (result.kind !== 'trouble') return undefined;
  const { trouble, reason } = result;
  if (trouble === 'refused') return fail(item, reason);
  if (trouble === 'away') return wait(item, reason, nowMs + AWAY_RETRY_MS);
  const before = item.doc.reason;
  const tries = before?.code === reason.code && typeof before['tries'] === 'number' ? before['tries'] + 1 : 1;
  if (tries >= SERVER_ERRORS_MAX) {
    mark('cluster-errs-too-often');
    return fail(item, { ...reason, tries });
  }
  return wait(item, { ...reason, tries }, nowMs + LOOK_AGAIN_MS);
}

/** That the one there now is the same machine is said by its provider id, or by an operator who adopts it: what has no such id keeps the UID of its own. */
function failReplaced(victim: Victim): RecordStep {
  mark('node-replaced');
  const { item, worker } = victim;
  const ended = endWork(worker.doc, noteOf(victim));
  const { nodeUid: _, ...without } = ended;
  const doc = ended.providerId === undefined ? ended : without;
  const failed = {
    state: 'failed',
    step: item.doc.step,
    reason: { code: 'node-replaced', worker: worker.id },
  } as const;
  return changeWorker(victim, failed, doc);
}

function observeNode(victim: Victim, seen: Extract<NodeResult, { kind: 'node' }>, then: ObservedDrain): RecordStep {
  const { item, worker } = victim;
  const note = noteOf(victim);
  switch (item.doc.step as VictimStep) {
    case 'inspect': {
      const doc = { ...beginCordon(worker.doc, seen, note), nodeUid: seen.uid };
      return changeWorker(victim, { state: 'running', step: 'cordon' }, doc);
    }
    case 'cordon':
      if (!seen.isUnschedulable) return failUncordoned(victim);
      return changeWorker(
        victim,
        { state: 'running', step: 'check' },
        confirmCordon(worker.doc, { ...seen.made, ...note }),
      );
    case 'check':
      return observeCheck(victim, seen);
    default:
      return observeEviction(victim, seen, then);
  }
}

function observeCheck(victim: Victim, seen: Extract<NodeResult, { kind: 'node' }>): RecordStep {
  const { item } = victim;
  const progress = progressOf(seen);
  if (!seen.isUnschedulable) return failUncordoned(victim);
  if (progress.isBlockedForGood) return failBlocked(victim, progress);
  return record(item, { state: 'running', step: 'evict' }, { changes: reportChanges(victim, progress) });
}

function observeEviction(victim: Victim, seen: Extract<NodeResult, { kind: 'node' }>, then: ObservedDrain): RecordStep {
  const { item, nowMs } = victim;
  const progress = progressOf(seen);
  if (!seen.isUnschedulable) return failUncordoned(victim);
  if (progress.isBlockedForGood) return failBlocked(victim, progress);
  if (progress.left === 0) return then.afterDrained(victim);
  const reason = waitReason(victim, progress);
  const changes = reportChanges(victim, progress);
  const isStill = changes.length === 0 && item.doc.reason?.code === reason.code;
  return { ...wait(item, reason, nowMs + untilNextLookMs(progress, isStill)), changes };
}

function untilNextLookMs({ accepted }: NodeProgress, isStill: boolean): number {
  if (accepted > 0) return EVICTED_LOOK_MS;
  return isStill ? STILL_BLOCKED_MS : LOOK_AGAIN_MS;
}

function progressOf({ progress }: Extract<NodeResult, { kind: 'node' }>): NodeProgress {
  if (progress === undefined) throw new Error('a look at pods without what it saw');
  return progress;
}

function reportChanges({ fleet, worker, item, nowMs }: Victim, progress: NodeProgress): Change[] {
  return recordProgress(fleet, worker, { operation: item.doc.operation, progress, nowMs });
}

/** An operator who took the cordon back expects pods there: none is evicted any more. */
export function failUncordoned({ item, worker }: Victim): RecordStep {
  mark('drain-ends-uncordoned');
  return fail(item, { code: 'node-uncordoned', worker: worker.id, node: worker.doc.node });
}

function failBlocked(victim: Victim, progress: NodeProgress): RecordStep {
  const { item, worker } = victim;
  const named = progress.blockers.find(({ reason }) => reason !== 'budget') ?? progress.blockers[0];
  const reason = { code: 'drain-blocked', worker: worker.id, ...blockerFacts(named), ...countOthers(progress) };
  return { ...fail(item, reason), changes: reportChanges(victim, progress) };
}

function waitReason({ worker }: Victim, progress: NodeProgress): Reason {
  const { left, terminating } = progress;
  const [first] = progress.blockers;
  if (first === undefined) return { code: 'pods-leaving', worker: worker.id, left, terminating };
  return { code: 'budget-blocks', worker: worker.id, left, ...blockerFacts(first), ...countOthers(progress) };
}

function blockerFacts(blocker: Blocker | undefined): Readonly<Record<string, string>> {
  if (blocker === undefined) return {};
  const { node, namespace, pod, reason, budget } = blocker;
  return { node, pod: `${namespace}/${pod}`, why: reason, ...(budget !== undefined && { budget }) };
}

function countOthers({ blockers, moreBlockers }: NodeProgress): { readonly others?: number } {
  const others = blockers.length + moreBlockers - 1;
  return others > 0 ? { others } : {};
}

export function changeWorker(
  { item, worker }: Victim,
  progress: RecordStep['progress'],
  doc: Worker,
  more: readonly Change[] = [],
): RecordStep {
  const changes = [put(WORKER, worker.id, doc), ...more];
  return record(item, progress, { changes, expects: [expectUnchanged(WORKER, worker)] });
}

/** Which operation an item is of, and its batch, made when it is first needed. */
export function lazyBatch(fleet: FleetReader, items: readonly StoredItem[]): () => WorkerBatch {
  let batch: WorkerBatch | undefined;
  const [first] = items;
  return () => (batch ??= new WorkerBatch(fleet, idOfOperation(first)));
}

function idOfOperation(item: StoredItem | undefined): OperationId {
  if (item === undefined) throw new Error('a batch of no items');
  return item.doc.operation as OperationId;
}
