// Looks at the Node of a worker that joins: it is in service when its Node is Ready and says that it is this worker's machine.
import type { Reason } from '../../fleet/index.ts';
import { fail, record, type ActionOutcome, type PlannedStep, type RecordStep } from '../../operations/index.ts';
import { readNodeResult, type NodeResult } from '../drain/node-order.ts';
import { act, changeWorker, noteOf, observeOther } from '../drain/victim-steps.ts';
import { finishJoin } from '../workers/transitions.ts';
import { waitOrFail, type Joining } from './joining.ts';

const LOOK_AGAIN_MS = 1000;
/** A Node that takes longer is waited for more slowly: each look may be a commit. */
const PATIENT_AFTER_MS = 60_000;
const PATIENT_LOOK_MS = 5000;
const AWAY_RETRY_MS = 2000;

/** By its name alone: a Node of another machine is distinguished by what it reports. */
export function lookAtNode({ item, worker }: Joining): PlannedStep {
  const { cluster, node } = worker.doc;
  return act(item, { op: 'inspect', cluster, node });
}

/** Before the join: after a retry, or when the server was cut off, it may have joined already. */
export function observeFirstLook(joining: Joining, outcome: ActionOutcome): RecordStep {
  const { item } = joining;
  const result = readNodeResult(outcome);
  if (result.kind === 'node') return endJoin(joining, result) ?? record(item, { state: 'running', step: 'queue' });
  return observeOther(joining, result) ?? record(item, { state: 'running', step: 'queue' });
}

/** After the join: what the cluster shows is waited for, as long as the join has time. */
export function observeLastLook(joining: Joining, outcome: ActionOutcome): RecordStep {
  const { item, worker, nowMs } = joining;
  const result = readNodeResult(outcome);
  if (result.kind === 'trouble' && result.trouble === 'refused') return fail(item, result.reason);
  if (result.kind === 'trouble') return waitOrFail(joining, result.reason, nowMs + AWAY_RETRY_MS);
  const ended = result.kind === 'node' ? endJoin(joining, result) : undefined;
  if (ended !== undefined) return ended;
  const { cluster, node } = worker.doc;
  const readiness = result.kind === 'node' ? result.readiness : 'missing';
  const reason: Reason = { code: 'node-awaited', worker: worker.id, cluster, node, readiness };
  return waitOrFail(joining, reason, nowMs + lookAgainMs(joining));
}

function lookAgainMs({ worker, join, nowMs }: Joining): number {
  const sinceMs = (worker.doc.work?.joinByMs ?? nowMs) - join.doc.joinDeadlineMs;
  return nowMs - sinceMs < PATIENT_AFTER_MS ? LOOK_AGAIN_MS : PATIENT_LOOK_MS;
}

/** Undefined while its Node is not Ready. */
function endJoin(joining: Joining, seen: Extract<NodeResult, { kind: 'node' }>): RecordStep | undefined {
  const { item, worker } = joining;
  const { providerId: expected = '' } = worker.doc;
  const { providerId: found = '', uid, readiness } = seen;
  if (found !== expected) {
    const { cluster, node } = worker.doc;
    return fail(item, { code: 'other-node', worker: worker.id, cluster, node, expected, found });
  }
  if (readiness !== 'ready') return undefined;
  return changeWorker(joining, { state: 'done', step: item.doc.step }, finishJoin(worker.doc, uid, noteOf(joining)));
}
