// The tasks of the two hosts of a move, and the meaning of their answers and those of the network’s back end.
import { mergeChanges, type Change, type FleetReader } from '../../fleet/index.ts';
import type { PortAnswer } from '../../network/index.ts';
import {
  wait,
  type ActionOutcome,
  type OperationKind,
  type RecordStep,
  type StoredItem,
  type TaskAnswer,
  type TaskFacts,
} from '../../operations/index.ts';
import { composeBuildArgs, recordHostBinding, composeNicArgs } from '../build/host-tasks.ts';
import { recordBoundPorts } from '../build/back-end-answers.ts';
import { loadItem, clearPromisedAddresses } from '../build/steps.ts';
import { reportsPlugEvents } from '../degraded/degraded.ts';
import { toFaultCode, type AttemptFailure } from '../faults.ts';
import { recordArrival, arriveDisconnected, isDisconnected, switchToTarget, moveOn } from './arrival.ts';
import {
  readAnswer,
  retryOrder,
  handleTargetBound,
  portFailureOf,
  isUnanswered,
  handlePrepared,
  handleTargetUnbound,
} from './binding.ts';
import {
  holdEnd,
  targetBindMode,
  movingInstanceOf,
  decideMoveStep,
  advanceMove,
  targetOf,
  composeTargetInstance,
  type MovingInstance,
  type MoveContext,
} from './context.ts';
import { handleRebound } from './plug.ts';
import { continueAfterMoveFault, failInstanceLost, failSourceLost } from './steps.ts';
import { nonInlinePorts } from '../back-end-orders.ts';
import { portsOf, canReachPools } from '../build/placement.ts';
import { switchModeOf } from './switch-mode.ts';

/** A task or an order that failed when there is no way back is repeated after this time. */
const TASK_RETRY_MS = 5000;

/** The faults of a host or a back end that concern the ports. */
const PORT_FAULTS: readonly string[] = [
  'binding-failed',
  'pool-empty',
  'mapping-gone',
  'address-not-carried',
  'not-found',
  'taken',
  'quota',
  'forbidden',
  'back-end-unavailable',
  'no-network-access',
  'unsupported',
];

export const composeMoveTask: NonNullable<OperationKind['task']> = (item, { fleet, relayed: handover }) => {
  const instance = movingInstanceOf(item, loadItem(fleet, item.id).instance);
  if (instance?.doc.state !== 'moving' || item.doc.state !== 'running') return undefined;
  const { kind } = instance.doc.move;
  const named = { instance: instance.id };
  switch (item.doc.step) {
    case 'prepare':
      return { kind: 'prepare', args: composePrepareArgs(fleet, instance) };
    case 'migrate':
      return {
        kind: 'migrate',
        args: { ...named, target: targetOf(instance.doc) ?? '', kind, ...(handover !== undefined && { handover }) },
      };
    case 'query-target':
      // Its ports are bound afterwards, if it is there at all.
      return { kind: 'activate', args: { ...named, nics: composeTargetNics(fleet, instance), kind, ifReceived: true } };
    case 'activate':
      return { kind: 'activate', args: { ...named, ...composeActivateArgs(fleet, instance), kind } };
    case 'clean-source':
      return { kind: 'destroy', args: { ...named, nics: [], ports: 'leave' } };
    default:
      return undefined;
  }
};

/** What the target has prepared, such as a line and a one-time secret, is for the source alone. */
export function relayPrepared(item: StoredItem, { outcome, facts }: TaskAnswer): TaskFacts | undefined {
  if (item.doc.step !== 'prepare' || outcome !== 'done') return undefined;
  const { ports: _, ...handover } = facts ?? {};
  return handover;
}

/** The ports stay connected at the source meanwhile: the target gets to know them, and connects none. */
function composePrepareArgs(fleet: FleetReader, instance: MovingInstance): Readonly<Record<string, unknown>> {
  const nics = composeTargetNics(fleet, instance);
  return { ...composeBuildArgs(fleet, composeTargetInstance(instance), 'ready'), nics, kind: instance.doc.move.kind };
}

function composeTargetNics(fleet: FleetReader, instance: MovingInstance): readonly object[] {
  // A target that binds by itself would do so at once: it gets the ports when it is to activate the instance.
  if (targetBindMode(fleet, instance) !== 'ready') return [];
  const { doc: targetInstance } = composeTargetInstance(instance);
  const pools = targetInstance.attempts.at(-1)?.pools ?? [];
  return portsOf(fleet, targetInstance).map(({ doc: { binding: _, ...doc }, ...port }, nic) =>
    composeNicArgs(fleet, { ...port, doc }, pools[nic]),
  );
}

function composeActivateArgs(fleet: FleetReader, instance: MovingInstance): Readonly<Record<string, unknown>> {
  const mode = targetBindMode(fleet, instance);
  const { nics } = composeBuildArgs(fleet, composeTargetInstance(instance), mode);
  return { nics, ...(mode !== 'ready' && { network: mode }) };
}

export function handleMoveAnswer(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  return decideMoveStep({ fleet, item: item.id, nowMs }, (look) => {
    switch (item.doc.step) {
      case 'prepare':
        return answer.outcome === 'done' ? handlePrepared(look) : continueAfterMoveFault(look, failureOf(answer));
      case 'migrate':
        return answer.outcome === 'done' ? handleMigrated(look) : handleNotMigrated(look, answer);
      case 'query-target':
        return answer.outcome === 'done' ? handleMigrated(look) : handleNotReceived(look, answer);
      case 'activate':
        return handleActivated(look, answer);
      case 'clean-source':
        return answer.outcome === 'done' ? handleSourceCleaned(look) : retryTask(look, 'not-destroyed', answer);
      default:
        throw new Error(`instance-move has no task in step "${item.doc.step}"`);
    }
  });
}

function failureOf({ facts, problems }: TaskAnswer): AttemptFailure {
  const named = toFaultCode(facts?.['fault']);
  const text = problems?.join('; ');
  // An unknown fault counts as one of the move here, not of a build.
  return { fault: named === 'spawn-failed' ? 'migration-failed' : named, ...(text !== undefined && { text }) };
}

function retryTask({ item, instance, nowMs }: MoveContext, code: string, { problems = [] }: TaskAnswer): RecordStep {
  return wait(item, { code, instance: instance.id, host: item.doc.host, problems }, nowMs + TASK_RETRY_MS);
}

/**
 * The source is forced down, and the target has nothing of it yet. The force-down may be wrong, and the source may still send it: the copy at the
 * target is held.
 */
function handleNotReceived(look: MoveContext, answer: TaskAnswer): RecordStep {
  const fault = answer.facts?.['fault'];
  const nothing = fault === 'nothing-received' || fault === 'not-prepared';
  return nothing ? failSourceLost(look, holdEnd) : retryTask(look, 'not-activated', answer);
}

/** The source has sent it. Outside the journal the ports are bound first, then the instance is at its target. */
function handleMigrated(look: MoveContext): RecordStep {
  const { fleet, instance } = look;
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  const step = targetBindMode(fleet, instance) === 'ready' && outside.length > 0 ? 'bind' : 'switch';
  return advanceMove(look, { step, host: null });
}

/**
 * An instance that does not run at the source any more may be arriving: the move neither goes back nor fails. A source that does not report whether
 * it runs there may have sent it: the copy at the target is held until the instance is known to run.
 */
function handleNotMigrated(look: MoveContext, answer: TaskAnswer): RecordStep {
  const runs = answer.facts?.['runs'];
  if (runs === true) return continueAfterMoveFault(look, failureOf(answer));
  if (runs !== false || answer.facts === undefined) return continueAfterMoveFault(look, failureOf(answer), holdEnd);
  if (answer.facts['fault'] === 'instance-gone') return failInstanceLost(look, (answer.problems ?? []).join('; '));
  return retryTask(look, 'not-migrated', answer);
}

/** Nothing of it is left at the source except, where the back end holds two, the binding that was active before. */
export function handleSourceCleaned(look: MoveContext, changes: readonly Change[] = []): RecordStep {
  const { fleet, instance } = look;
  if (switchModeOf(fleet, instance) !== 'two-bindings') return recordArrival(look, changes);
  return advanceMove(look, { step: 'unbind-source', host: null, changes });
}

function handleActivated(look: MoveContext, answer: TaskAnswer): RecordStep {
  const { fleet, instance, nowMs } = look;
  const without = isDisconnected(instance.doc);
  if (answer.outcome === 'failed') {
    const ofPorts = !without && PORT_FAULTS.includes(String(answer.facts?.['fault']));
    return ofPorts ? arriveDisconnected(look, failureOf(answer)) : retryTask(look, 'not-activated', answer);
  }
  if (without) return moveOn(look);
  const made = recordHostBinding(fleet, composeTargetInstance(instance), answer, nowMs);
  if (made.kind === 'fault') return arriveDisconnected(look, made.failed);
  const promises = made.changes.length === 0 ? [] : clearPromisedAddresses(fleet, instance.id);
  const changes = mergeChanges([...made.changes, ...promises]);
  const isReported = portsOf(fleet, instance.doc).some((port) => reportsPlugEvents(fleet, port));
  return isReported ? advanceMove(look, { step: 'plug', host: null, changes }) : handlePlugged(look, changes);
}

/** It is connected where it is now: the copy at the source is no longer needed. */
export function handlePlugged(look: MoveContext, changes: readonly Change[] = []): RecordStep {
  return advanceMove(look, { step: 'clean-source', host: look.instance.doc.move.from, changes });
}

/** The back end's answer. After the migration an order without an answer is repeated some times. */
export function handleMoveOutcome(
  fleet: FleetReader,
  item: StoredItem,
  outcome: ActionOutcome,
  nowMs: number,
): RecordStep {
  return decideMoveStep({ fleet, item: item.id, nowMs }, (look) => {
    const answered = readAnswer(outcome);
    switch (look.item.doc.step) {
      case 'bind-target':
        return handleTargetBound(look, answered);
      case 'unbind-target':
        return handleTargetUnbound(look, answered);
      case 'plug':
        return handleRebound(look);
      case 'unbind-source':
        // An extra inactive binding does no harm: the next one replaces it.
        return (isUnanswered(answered) ? retryOrder(look, answered) : undefined) ?? recordArrival(look);
      default:
        return handleBoundAfterMigration(look, answered);
    }
  });
}

function handleBoundAfterMigration(look: MoveContext, answered: ReturnType<typeof readAnswer>): RecordStep {
  const { fleet, instance, nowMs } = look;
  const { answers, worst } = answered;
  if (isUnanswered(answered)) {
    const text = worst?.text;
    const failed: AttemptFailure = { fault: 'back-end-unavailable', ...(text !== undefined && { text }) };
    return retryOrder(look, answered) ?? arriveDisconnected(look, failed, recordTargetPorts(look, answers));
  }
  if (worst !== undefined)
    return arriveDisconnected(look, portFailureOf(look, worst), recordTargetPorts(look, answers));
  const { host = '', pools } = instance.doc.move.tries.at(-1) ?? { pools: [] };
  if (!canReachPools(fleet, host, pools))
    return arriveDisconnected(look, { fault: 'mapping-gone' }, recordTargetPorts(look, answers));
  return switchToTarget(look, recordBoundPorts(fleet, composeTargetInstance(instance), answers ?? [], nowMs));
}

/** The ports that the back end did bind at the target, and whose segments the target reaches. */
function recordTargetPorts({ fleet, instance, nowMs }: MoveContext, answers: readonly PortAnswer[] = []): Change[] {
  const { host = '', pools = [] } = instance.doc.move.tries.at(-1) ?? {};
  const good = answers.filter(({ port, outcome }) => {
    const nic = instance.doc.nics.findIndex((one) => one.port === port);
    return outcome === 'ok' && canReachPools(fleet, host, pools.slice(nic, nic + 1));
  });
  return recordBoundPorts(fleet, composeTargetInstance(instance), good, nowMs);
}
