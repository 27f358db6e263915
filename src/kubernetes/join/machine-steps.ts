// The steps at the machine of a worker: reach it, and have its script join it. A machine that does not answer yet is tried again, as is a pass that was cut off; a
// script that found a fault, and a machine that is another one than before, end the join.
import type { Change, Reason } from '../../fleet/index.ts';
import {
  expectUnchanged,
  fail,
  record,
  type ActionOutcome,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { changeWorker, noteOf } from '../drain/victim-steps.ts';
import type { JoinSettings, Unreached } from '../machines/reach.ts';
import { WORKER } from '../model.ts';
import { rememberMachine } from '../workers/transitions.ts';
import { findErrorLine } from './error-line.ts';
import { JOINS_DRIVER, readJoinResult, type JoinOrder } from './join-order.ts';
import { joinByMs, waitOrFail, type Joining } from './joining.ts';
import { findMachineAddress } from './machine-address.ts';
import { putLog } from './model.ts';

/** A machine that boots answers in its own time. */
const REACH_AGAIN_MS = 3000;
const LINE_MAX = 300;

export function actOnMachine(item: StoredItem, order: JoinOrder): PlannedStep {
  const { step, attempt } = item.doc;
  const action = { driver: JOINS_DRIVER, item: item.id, step, attempt, args: { ...order } };
  return { kind: 'act', item: item.id, expected: item.revision, action };
}

/** What it proves itself by is remembered before anything is sent to it. */
export function orderContact(joining: Joining): PlannedStep {
  const { item } = joining;
  const address = findMachineAddress(joining);
  if (address === undefined) return failAddressUnknown(joining);
  const isUnknown = address.kind === 'ssh' && address.trust.kind === 'any';
  if (!isUnknown) return record(item, { state: 'running', step: 'join' });
  return actOnMachine(item, { op: 'contact', ...identify(joining), address });
}

export function orderJoin(joining: Joining): PlannedStep {
  const address = findMachineAddress(joining);
  if (address === undefined) return failAddressUnknown(joining);
  const untilMs = joinByMs(joining);
  return actOnMachine(joining.item, {
    ...identify(joining),
    ...{ op: 'join', address, settings: composeSettings(joining), untilMs },
  });
}

function failAddressUnknown({ item, worker }: Joining): RecordStep {
  const { instance = '' } = worker.doc;
  return fail(item, { code: 'machine-address-unknown', worker: worker.id, instance });
}

function identify({ worker, join }: Joining) {
  const { cluster, node } = worker.doc;
  return { cluster, node, operation: join.doc.operation };
}

function composeSettings({ worker, cluster }: Joining): JoinSettings {
  const { node, providerId = '' } = worker.doc;
  const { caPin, version } = cluster;
  const endpoint = cluster.joinEndpoint ?? cluster.publishedEndpoint;
  return {
    ...{ cluster: cluster.name, node, providerId },
    ...(endpoint !== undefined && { endpoint }),
    ...(caPin !== undefined && { caPin }),
    ...(version !== undefined && { version }),
  };
}

export function observeContact(joining: Joining, outcome: ActionOutcome): RecordStep {
  const { item, worker, nowMs } = joining;
  const result = readJoinResult(outcome);
  if (result.kind === 'trouble') return observeTrouble(joining, result);
  if (result.kind !== 'contacted') return observeUnreached(joining, result as Unreached);
  const { key, fingerprint } = result;
  if (key === undefined || fingerprint === undefined) return record(item, { state: 'running', step: 'join' });
  const doc = rememberMachine(worker.doc, { key, fingerprint, atMs: nowMs }, noteOf(joining));
  return changeWorker(joining, { state: 'running', step: 'join' }, doc);
}

export function observeScript(joining: Joining, outcome: ActionOutcome): RecordStep {
  const { item, worker, nowMs } = joining;
  const result = readJoinResult(outcome);
  switch (result.kind) {
    case 'trouble':
      return observeTrouble(joining, result);
    case 'ended': {
      const { exitCode, output } = result;
      const changes = [putLog(joining.worker, { ...ranFor(joining), output, exitCode })];
      if (exitCode === 0) return recordWith(joining, record(item, { state: 'running', step: 'await-node' }), changes);
      const text = findErrorLine(output.text);
      return recordWith(joining, fail(item, { code: 'script-failed', worker: worker.id, exitCode, text }), changes);
    }
    case 'cut-off': {
      const reason = { code: 'script-cut-off', worker: worker.id, text: result.text.slice(0, LINE_MAX) };
      const next = waitOrFail(joining, reason, nowMs + REACH_AGAIN_MS);
      return recordWith(joining, next, [putLog(joining.worker, { ...ranFor(joining), output: result.output })]);
    }
    case 'token-created':
    case 'contacted':
      throw new Error(`a script was to be run, and the answer is ${result.kind}`);
    default:
      return observeUnreached(joining, result);
  }
}

function observeTrouble(
  joining: Joining,
  { trouble, reason }: { readonly trouble: string; readonly reason: Reason },
): RecordStep {
  if (trouble === 'refused') return fail(joining.item, reason);
  return waitOrFail(joining, reason, joining.nowMs + REACH_AGAIN_MS);
}

function observeUnreached(joining: Joining, answer: Unreached): RecordStep {
  const { item, worker, nowMs } = joining;
  const named = { worker: worker.id };
  if (answer.kind === 'wrong-host-key') {
    const { expected, found } = answer;
    return fail(item, { code: 'wrong-host-key', ...named, expected, found });
  }
  const code = answer.kind === 'unreachable' ? 'machine-unreachable' : 'machine-refuses-login';
  return waitOrFail(joining, { code, ...named, text: answer.text.slice(0, LINE_MAX) }, nowMs + REACH_AGAIN_MS);
}

function ranFor({ join, nowMs }: Joining) {
  return { operation: join.doc.operation, atMs: nowMs };
}

/** Its worker is there still: a log is of a worker. */
function recordWith({ worker }: Joining, step: RecordStep, changes: readonly Change[]): RecordStep {
  return { ...step, changes: [...step.changes, ...changes], expects: [expectUnchanged(WORKER, worker)] };
}
