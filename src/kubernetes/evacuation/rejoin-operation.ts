// The operation `worker-rejoin`: a worker whose machine is lost, and whose instance is built anew, joins its cluster again. Its old Node goes at once, with the pods that no kubelet
// ends any more. When the instance is active, Muster has it join as a new worker does, by an operation of its own; one that Muster has never joined is waited for.
import { idOf, mark, put, type Change, type FleetReader, type ChangeNote } from '../../fleet/index.ts';
import {
  expectUnchanged,
  fail,
  newOperation,
  OPERATION,
  record,
  wait,
  type ActionOutcome,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { removeReport } from '../drain/drain-report.ts';
import { readNodeResult } from '../drain/node-order.ts';
import {
  act,
  changeWorker,
  failSuperseded,
  findVictim,
  isDue,
  noteOf,
  observeOther,
  refOf,
  type Victim,
} from '../drain/victim-steps.ts';
import { itemsToWake } from '../drain/wake.ts';
import { composeJoinAgain } from '../join/decide.ts';
import { WORKER } from '../model.ts';
import { assignWork, endWork, finishJoin, forgetNode, loseMachine, type StoredWorker } from '../workers/transitions.ts';
import { clusterOf, findInstanceOf } from './leaving-workers.ts';
import { NEW_TOKENS_DRIVER, readToken } from './new-token-order.ts';

const WORKER_REJOIN = 'worker-rejoin';
const BY = `operation:${WORKER_REJOIN}`;

/** A shelved instance comes back by a request. */
const DEADLINE_MS = 30 * 24 * 3600 * 1000;
const LOOK_AGAIN_MS = 5000;
const SEAL_AGAIN_MS = 60_000;

/** `join` begins the join by Muster; `await-node` waits for one by others. */
const STEPS = ['delete-node', 'await-instance', 'join', 'await-node'] as const;
type RejoinStep = (typeof STEPS)[number];

export const workerRejoin: OperationKind = {
  name: WORKER_REJOIN,
  steps: STEPS,
  cancel: { kind: 'does', what: 'the worker is not waited for any more; its old Node stays deleted' },
  retry: { kind: 'does', what: 'the worker is waited for again, with a new deadline' },
  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  observe: (item, outcome, { fleet, nowMs }) => {
    const worker = findVictim(fleet, item);
    return worker === undefined ? failSuperseded(item) : observe({ fleet, item, worker, nowMs, by: BY }, outcome);
  },
  undo: (fleet, item, nowMs) => {
    const worker = findVictim(fleet, item);
    if (worker === undefined) return { changes: [], expects: [] };
    const changes = [put(WORKER, worker.id, endWork(worker.doc, { by: BY, nowMs }))];
    return { changes, expects: [expectUnchanged(WORKER, worker)] };
  },
  itemsToWake,
};

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return [failSuperseded(item)];
  const victim: Victim = { fleet, item, worker, nowMs, by: BY };
  switch (item.doc.step as RejoinStep) {
    case 'delete-node':
      return isDue(item, nowMs) ? [act(item, { op: 'delete', ...refOf(worker.doc) })] : [];
    case 'await-instance':
      return [awaitInstance(victim)];
    case 'join':
      return isDue(item, nowMs) ? [drawToken(item)] : [];
    case 'await-node':
      return awaitNode(victim);
  }
}

function awaitInstance({ fleet, item, worker }: Victim): RecordStep {
  const { node, instance = node, providerId } = worker.doc;
  const found = findInstanceOf(fleet, worker.doc);
  // It was deleted by force meanwhile.
  if (found === undefined) return fail(item, { code: 'worker-instance-gone', worker: worker.id, instance });
  if (found.state !== 'active') return wait(item, { code: 'instance-comes-back', worker: worker.id, instance });
  const { reach } = clusterOf(fleet, worker.doc);
  // Others know how they joined what was adopted; of simulated ones there are no others.
  const isJoinedHere = reach === 'simulated' || (reach !== 'none' && providerId !== undefined);
  return record(item, { state: 'running', step: isJoinedHere ? 'join' : 'await-node' });
}

function drawToken(item: StoredItem): PlannedStep {
  const { step, attempt } = item.doc;
  const action = { driver: NEW_TOKENS_DRIVER, item: item.id, step, attempt, args: { operation: joinOf(item) } };
  return { kind: 'act', item: item.id, expected: item.revision, action };
}

function joinOf({ doc: { operation } }: StoredItem) {
  return idOf(OPERATION, `${operation}.join`);
}

/** What the cluster's look at all Nodes found decides when this one is looked at: waiting costs no commit. */
function awaitNode({ item, worker, nowMs }: Victim): readonly PlannedStep[] {
  const { cluster, node, readiness } = worker.doc;
  if (readiness !== 'ready') return [wait(item, { code: 'worker-not-joined', worker: worker.id, cluster, node })];
  return isDue(item, nowMs) ? [act(item, { op: 'inspect', cluster, node })] : [];
}

function observe(victim: Victim, outcome: ActionOutcome): RecordStep {
  const { item } = victim;
  switch (item.doc.step as RejoinStep) {
    case 'delete-node':
      return observeDeletion(victim, outcome);
    case 'join':
      return observeToken(victim, outcome);
    default:
      return observeNode(victim, outcome);
  }
}

function observeDeletion(victim: Victim, outcome: ActionOutcome): RecordStep {
  const { item, worker } = victim;
  const result = readNodeResult(outcome);
  if (result.kind !== 'deleted')
    return observeOther(victim, result) ?? record(item, { state: 'running', step: item.doc.step });
  return changeWorker(victim, { state: 'running', step: 'await-instance' }, forgetNode(worker.doc, noteOf(victim)));
}

/** From here on the join has the worker in hand. */
function observeToken({ fleet, item, worker, nowMs }: Victim, outcome: ActionOutcome): RecordStep {
  const token = readToken(outcome);
  if (token === undefined) {
    const text = outcome.kind === 'failed' ? outcome.reason['text'] : undefined;
    const reason = { code: 'token-not-sealed', worker: worker.id, ...(text !== undefined && { text }) };
    return wait(item, reason, nowMs + SEAL_AGAIN_MS);
  }
  const changes = composeJoinAgain(fleet, { worker, operation: joinOf(item), token, by: BY, nowMs });
  return record(item, { state: 'done', step: item.doc.step }, { changes, expects: [expectUnchanged(WORKER, worker)] });
}

function observeNode(victim: Victim, outcome: ActionOutcome): RecordStep {
  const { item, worker, nowMs } = victim;
  const result = readNodeResult(outcome);
  if (result.kind === 'node' && result.readiness === 'ready')
    return changeWorker(
      victim,
      { state: 'done', step: item.doc.step },
      finishJoin(worker.doc, result.uid, noteOf(victim)),
    );
  const { cluster, node } = worker.doc;
  const waiting = wait(item, { code: 'worker-not-joined', worker: worker.id, cluster, node }, nowMs + LOOK_AGAIN_MS);
  return observeOther(victim, result) ?? waiting;
}

/** In the commit that begins to build its instance anew. Whatever had the worker in hand ends. */
export function beginRejoin(
  fleet: FleetReader,
  { id, doc }: Pick<StoredWorker, 'id' | 'doc'>,
  { by, nowMs }: ChangeNote,
): Change[] {
  if (doc.state === 'removing' || doc.state === 'building') return [];
  mark('worker-rejoins');
  const { site, project } = clusterOf(fleet, doc);
  const operation = idOf(OPERATION, `rejoin-${fleet.revision}.${id}`);
  return [
    put(WORKER, id, assignWork(loseMachine(doc, { by, nowMs }), { operation, by, nowMs })),
    ...removeReport(fleet, id),
    ...newOperation({
      ...{ id: operation, kind: WORKER_REJOIN, title: `join worker ${id} again`, by },
      ...{ site, project, nowMs, deadlineMs: DEADLINE_MS },
      items: [{ key: id, target: { kind: WORKER.name, id }, step: 'delete-node' }],
    }),
  ];
}
