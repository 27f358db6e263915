// The machine of a worker whose instance stays leaves its cluster: its kubelet is stopped, and what it has of the cluster is removed. Its Node is gone by then; a kubelet that
// still runs would make another one when it is started again. A machine that does not answer is tried for some minutes, and then its removal fails.
import { idOf } from '../../fleet/index.ts';
import {
  expectUnchanged,
  fail,
  record,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type RecordStep,
} from '../../operations/index.ts';
import { findErrorLine } from '../join/error-line.ts';
import { JOINS_DRIVER, readJoinResult, type JoinOrder } from '../join/join-order.ts';
import { findMachineAddress } from '../join/machine-address.ts';
import { putLog } from '../join/model.ts';
import type { ScriptOutput } from '../machines/reach.ts';
import { CLUSTER, WORKER } from '../model.ts';
import { instanceOf } from '../workers/instance-of.ts';
import type { VictimStep } from './batch.ts';
import { isDue, type Victim } from './victim-steps.ts';

/** As long as a machine takes to boot. */
const LEAVE_MAX_MS = 5 * 60 * 1000;
const REACH_AGAIN_MS = 3000;
const TEXT_MAX = 300;
const MACHINE_AWAITED = 'machine-awaited';

/** One that is not reached, or does not run, has nothing that could leave. */
export function planLeaving(victim: Victim, next: VictimStep): readonly PlannedStep[] {
  const { fleet, item, worker, nowMs } = victim;
  const cluster = fleet.get(CLUSTER, idOf(CLUSTER, worker.doc.cluster))?.doc;
  const isReached = cluster !== undefined && cluster.reach !== 'none' && instanceOf(victim)?.state === 'active';
  if (!isReached || worker.doc.work?.keepsInstance !== true) return [record(item, { state: 'running', step: next })];
  const address = findMachineAddress({ fleet, cluster, worker });
  const { instance = '' } = worker.doc;
  if (address === undefined) return [fail(item, { code: 'machine-address-unknown', worker: worker.id, instance })];
  if (!isDue(item, nowMs)) return [];
  const { step, attempt } = item.doc;
  const { cluster: name, node } = worker.doc;
  const order: JoinOrder = { op: 'leave', cluster: name, node, address, untilMs: nowMs + LEAVE_MAX_MS };
  const action = { driver: JOINS_DRIVER, item: item.id, step, attempt, args: { ...order } };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

export function observeLeaving(victim: Victim, outcome: ActionOutcome, next: VictimStep): RecordStep {
  const { item, worker } = victim;
  const result = readJoinResult(outcome);
  switch (result.kind) {
    case 'ended': {
      const { exitCode, output } = result;
      if (exitCode === 0) return record(item, { state: 'running', step: next });
      return withLog(victim, failNotLeft(victim, findErrorLine(output.text)), { output, exitCode });
    }
    case 'cut-off':
      return withLog(victim, waitOrFail(victim, result.text), result);
    case 'wrong-host-key': {
      const { expected, found } = result;
      return fail(item, { code: 'wrong-host-key', worker: worker.id, expected, found });
    }
    case 'trouble':
      return waitOrFail(victim, String(result.reason['text'] ?? result.reason.code));
    case 'unreachable':
    case 'login-refused':
      return waitOrFail(victim, result.text);
    default:
      throw new Error(`a machine was to leave its cluster, and the answer is ${result.kind}`);
  }
}

function waitOrFail(victim: Victim, text: string): RecordStep {
  const { item, worker, nowMs } = victim;
  const before = item.doc.reason;
  const sinceMs = before?.code === MACHINE_AWAITED ? Number(before['sinceMs']) : nowMs;
  if (nowMs - sinceMs >= LEAVE_MAX_MS) return failNotLeft(victim, text);
  const reason = { code: MACHINE_AWAITED, worker: worker.id, text: text.slice(0, TEXT_MAX), sinceMs };
  return wait(item, reason, nowMs + REACH_AGAIN_MS);
}

function failNotLeft({ item, worker }: Victim, text: string): RecordStep {
  return fail(item, { code: 'machine-not-left', worker: worker.id, text: text.slice(0, TEXT_MAX) });
}

function withLog(
  { item, worker, nowMs }: Victim,
  step: RecordStep,
  { output, exitCode }: { readonly output: ScriptOutput; readonly exitCode?: number },
): RecordStep {
  const ran = { operation: item.doc.operation, output, atMs: nowMs, ...(exitCode !== undefined && { exitCode }) };
  return { ...step, changes: [...step.changes, putLog(worker, ran)], expects: [expectUnchanged(WORKER, worker)] };
}
