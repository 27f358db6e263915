// The first steps of a join: the instance of the worker is built, once, and waited for. One whose build failed is deleted before another one is built by its name.
import { idOf, put, type FleetReader } from '../../fleet/index.ts';
import { createInstances, deleteInstances, type Builders } from '../../instances/index.ts';
import {
  decideLater,
  expectUnchanged,
  fail,
  OPERATION,
  operationOf,
  record,
  wait,
  type OperationId,
  type PlannedStep,
  type RecordStep,
} from '../../operations/index.ts';
import { changeWorker, failSuperseded, noteOf } from '../drain/victim-steps.ts';
import { WORKER } from '../model.ts';
import { instanceOf } from '../workers/instance-of.ts';
import { assignInstance, beginJoining } from '../workers/transitions.ts';
import { composeCommand } from './decide.ts';
import { findJoining, type Joining } from './joining.ts';

const DELETE_DEADLINE_MS = 24 * 3600 * 1000;

export function planBuild({ item }: Joining, builders: Builders): readonly PlannedStep[] {
  const decide = (fleet: FleetReader, nowMs: number): readonly RecordStep[] => {
    const joining = findJoining(fleet, item, nowMs);
    return [joining === undefined ? failSuperseded(item) : decideBuild(joining, builders)];
  };
  return [decideLater(item, decide)];
}

function decideBuild(joining: Joining, builders: Builders): RecordStep {
  const { item, worker, join, fleet } = joining;
  const instance = instanceOf(joining);
  const { template } = join.doc;
  if (instance === undefined) {
    if (template === undefined) return failInstanceGone(joining);
    return createInstance(joining, builders);
  }
  const waiting = wait(item, { code: 'failed-instance-deleting', worker: worker.id, instance: instance.name });
  if (template !== undefined && instance.state === 'deleting') return waiting;
  const isFailedBuild = instance.state === 'error' && !instance.wasActive;
  if (!isFailedBuild || template === undefined) return record(item, { state: 'running', step: 'await-instance' });
  const { by } = operationOf(fleet, item).doc;
  const operation = unusedOperation(fleet, `${item.id}.discard`);
  const command = { ids: [instance.name], operation, by, nowMs: joining.nowMs, deadlineMs: DELETE_DEADLINE_MS };
  const decision = deleteInstances(fleet, command, builders);
  if (decision.kind === 'refuse') return failRefused(joining, decision.refusal);
  return { ...waiting, changes: decision.changes };
}

function createInstance(joining: Joining, builders: Builders): RecordStep {
  const { item, worker, join, fleet, nowMs } = joining;
  const { template } = join.doc;
  if (template === undefined) throw new Error(`join ${join.id} has nothing to build instances of`);
  const { by } = operationOf(fleet, item).doc;
  const name = worker.doc.node;
  const operation = unusedOperation(fleet, `${item.id}.build`);
  const decision = createInstances(fleet, composeCommand(template, { name, operation, by, nowMs }), builders);
  if (decision.kind === 'refuse') return failRefused(joining, decision.refusal);
  const changes = [put(WORKER, worker.id, assignInstance(worker.doc, name, noteOf(joining))), ...decision.changes];
  const expects = [expectUnchanged(WORKER, worker)];
  return record(item, { state: 'running', step: 'await-instance' }, { changes, expects });
}

/** A retry begins another one. */
function unusedOperation(fleet: FleetReader, base: string): OperationId {
  for (let nth = 1; ; nth += 1) {
    const id = idOf(OPERATION, `${base}-${nth}`);
    if (fleet.get(OPERATION, id) === undefined) return id;
  }
}

function failRefused({ item, worker }: Joining, { code, message }: { code: string; message: string }): RecordStep {
  return fail(item, { code: 'instance-refused', worker: worker.id, why: code, text: message });
}

export function planInstance(joining: Joining): readonly PlannedStep[] {
  const { worker } = joining;
  const held = waitForInstance(joining);
  if (held !== undefined) return [held];
  const doc = worker.doc.state === 'building' ? beginJoining(worker.doc, noteOf(joining)) : worker.doc;
  return [changeWorker(joining, { state: 'running', step: 'look' }, doc)];
}

/** What keeps a worker from joining as long as its instance does not run. */
export function waitForInstance(joining: Joining): RecordStep | undefined {
  const { item, worker } = joining;
  const instance = instanceOf(joining);
  if (instance === undefined) return failInstanceGone(joining);
  const { name, state, fault } = instance;
  if (state === 'active') return undefined;
  if (state !== 'error' && state !== 'deleting' && state !== 'shelved')
    return wait(item, { code: 'instance-building', worker: worker.id, instance: name, state });
  const why = fault === undefined ? {} : { why: fault.code, text: fault.message };
  return fail(item, { code: 'instance-not-running', worker: worker.id, instance: name, state, ...why });
}

function failInstanceGone({ item, worker }: Joining): RecordStep {
  return fail(item, {
    code: 'worker-instance-gone',
    worker: worker.id,
    instance: worker.doc.instance ?? worker.doc.node,
  });
}
