// The operation `instance-move`: choose a host, prepare it, migrate the instance, switch its ports and its claim, activate it there, clean up at the
// source. After a crash it continues from the last step.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import {
  decideLater,
  expectUnchanged,
  record,
  wait,
  type PlannedStep,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { itemsOfEvent, itemsOfHost } from '../delete/clean.ts';
import { notPluggedFailure, PLUG_TIMEOUT_MS, listDisconnectedPorts, troublesText } from '../degraded/degraded.ts';
import { INSTANCE, type InstanceFault } from '../model.ts';
import { composeArrival, hasClaimAtTarget, isDisconnected, switchToTarget, failTargetLost } from './arrival.ts';
import { bindTarget, switchOver, unbindSource, unbindTarget } from './binding.ts';
import {
  movingInstanceOf,
  failSuperseded,
  decideMoveStep,
  advanceMove,
  putMoving,
  sweepEnd,
  targetOf,
  type MoveContext,
} from './context.ts';
import { rebindPorts, moveOnUnplugged, pluggingSinceMs, listUnpluggedPorts, waitForPlugs } from './plug.ts';
import { continueAfterMoveFault, scheduleMove, failBothLost, failSourceLost, restoreInPlace } from './steps.ts';
import {
  handleMoveAnswer,
  handleSourceCleaned,
  composeMoveTask,
  handleMoveOutcome,
  relayPrepared,
  handlePlugged,
} from './tasks.ts';
import { isUnavailable, isFencedOrRemoved, isRemoved, type StoredInstance } from '../build/placement.ts';

export const instanceMove: OperationKind = {
  name: 'instance-move',
  steps: [
    'schedule',
    'bind-target',
    'prepare',
    'migrate',
    'query-target',
    'bind',
    'switch',
    'activate',
    'plug',
    'clean-source',
    'unbind-source',
    'unbind-target',
  ],
  cancel: {
    kind: 'none',
    because: 'an instance that is being migrated can only go forward; one without a target stays where it is',
  },
  retry: {
    kind: 'does',
    what: 'moves that passed their deadline continue from their last step; instances that stayed where they were are tried again',
  },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      const moving = movingInstanceOf(item, instance);
      return moving === undefined ? [endLeftover(item, instance)] : planItem({ fleet, item, instance: moving, nowMs });
    }),

  observe: (item, outcome, { fleet, nowMs }) => handleMoveOutcome(fleet, item, outcome, nowMs),
  task: composeMoveTask,
  relayFacts: relayPrepared,
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleMoveAnswer(fleet, item, answer, nowMs),

  onDeadline: (fleet, item, nowMs) => {
    const instance = movingInstanceOf(item, fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id)));
    if (instance?.doc.state !== 'moving') return { changes: [], expects: [] };
    return { changes: failOverdue({ fleet, item, instance, nowMs }), expects: [expectUnchanged(INSTANCE, instance)] };
  },

  itemsToWake: (fleet, change) => [
    ...itemsOfHost(fleet, change.kind, (change.after ?? change.before)?.id),
    ...itemsOfEvent(fleet, change),
  ],
};

const PLUG_LATE = 'The network did not report its ports as plugged in time.';

/** A move that passed its deadline in its last step has left the rest to a sweep: there is nothing more to do. */
function endLeftover(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  const over = instance?.doc.state === 'active' && ['clean-source', 'unbind-source'].includes(item.doc.step);
  return over ? record(item, { state: 'done', step: item.doc.step }) : failSuperseded(item, instance);
}

function planItem(look: MoveContext): readonly PlannedStep[] {
  const { item, instance } = look;
  if (instance.doc.state === 'active') return [decideStep(item, scheduleMove)];
  switch (item.doc.step) {
    case 'schedule':
      return [decideStep(item, scheduleMove)];
    case 'bind-target':
      return requireBothHosts(look) ?? bindTarget(look);
    case 'unbind-target':
      return unbindTarget(look);
    case 'unbind-source':
      return unbindSource(look);
    case 'prepare':
      return requireBothHosts(look) ?? requestTask(look);
    case 'migrate':
      return planMigrate(look);
    case 'query-target':
      return planAskTarget(look);
    case 'bind':
    case 'switch':
      return planSwitch(look);
    case 'activate':
      return planActivate(look);
    case 'plug':
      return planPlug(look);
    case 'clean-source':
      return planCleanSource(look);
    default:
      throw new Error(`instance-move has no step "${item.doc.step}"`);
  }
}

/** Every change of documents is decided on the newest state: a delete may have come first. */
function decideStep(item: StoredItem, step: (look: MoveContext) => RecordStep): PlannedStep {
  return decideLater(item, (fleet, nowMs) => [decideMoveStep({ fleet, item: item.id, nowMs }, step)]);
}

/** A task for a host that has no open one, or has to repeat it. */
function requestTask({ item, nowMs }: MoveContext): readonly PlannedStep[] {
  const { step, state, attempt, retryAtMs = 0 } = item.doc;
  if (state === 'running' || nowMs < retryAtMs) return [];
  return [record(item, { state: 'running', step, attempt: attempt + 1 })];
}

/** What follows when a host is lost before the source was ordered to migrate; undefined while both are there. */
function requireBothHosts(look: MoveContext): readonly PlannedStep[] | undefined {
  const { fleet, item, instance } = look;
  if (isFencedOrRemoved(fleet, instance.doc.move.from)) return [decideStep(item, (at) => failSourceLost(at))];
  if (!isUnavailable(fleet, targetOf(instance.doc) ?? '') && hasClaimAtTarget(look)) return undefined;
  return [decideStep(item, (at) => continueAfterMoveFault(at, { fault: 'host-lost' }))];
}

/**
 * Only the source knows whether it has migrated the instance: whatever happens to the target, its answer decides. A source that is certainly off
 * gives none: the target may have the only copy then, and is queried.
 */
function planMigrate(look: MoveContext): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const { from } = instance.doc.move;
  if (isFencedOrRemoved(fleet, from))
    return [decideStep(item, (at) => advanceMove(at, { step: 'query-target', host: targetOf(at.instance.doc) ?? '' }))];
  if (isUnavailable(fleet, from))
    return [wait(item, { code: 'source-not-connected', instance: instance.id, host: from })];
  return requestTask(look);
}

function planAskTarget(look: MoveContext): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const host = targetOf(instance.doc) ?? '';
  // Both are off: either of them may have the only copy.
  if (isFencedOrRemoved(fleet, host)) return [decideStep(item, failBothLost)];
  const { from } = instance.doc.move;
  return isUnavailable(fleet, host)
    ? [
        wait(item, {
          code: 'migration-outcome-unknown',
          instance: instance.id,
          host,
          from,
          ...composeRemovedFact(fleet, from),
        }),
      ]
    : requestTask(look);
}

/** Otherwise it is forced down. */
function composeRemovedFact(fleet: FleetReader, host: string): { readonly removed?: true } {
  return isRemoved(fleet, host) ? { removed: true } : {};
}

function planSwitch(look: MoveContext): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const host = targetOf(instance.doc) ?? '';
  if (isFencedOrRemoved(fleet, host) || !hasClaimAtTarget(look)) return [decideStep(item, failTargetLost)];
  if (item.doc.step === 'switch') return [decideStep(item, (at) => switchToTarget(at))];
  return switchOver(look);
}

function planActivate(look: MoveContext): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const host = instance.doc.host ?? '';
  if (isFencedOrRemoved(fleet, host)) return [decideStep(item, failTargetLost)];
  return isUnavailable(fleet, host)
    ? [wait(item, { code: 'target-not-connected', instance: instance.id, host })]
    : requestTask(look);
}

/** A target whose ports are not plugged is replaced by another, like one that could not bind them. */
function planPlug(look: MoveContext): readonly PlannedStep[] {
  const { fleet, item, instance, nowMs } = look;
  if (isFencedOrRemoved(fleet, instance.doc.host ?? '')) return [decideStep(item, failTargetLost)];
  const waiting = listUnpluggedPorts(look);
  if (waiting.length === 0) return [decideStep(item, (at) => handlePlugged(at))];
  const failed = waiting.find(({ trouble }) => trouble === 'plug-failed');
  if (failed !== undefined || nowMs >= pluggingSinceMs(look) + PLUG_TIMEOUT_MS)
    return [decideStep(item, (at) => moveOnUnplugged(at, notPluggedFailure(failed)))];
  if (item.doc.state !== 'waiting') return [waitForPlugs(look, 0)];
  return rebindPorts(look, waiting);
}

/** A source that is away is swept when it is back, by an operation of its own: the instance runs, and need not wait for it. */
function planCleanSource(look: MoveContext): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  if (!isUnavailable(fleet, instance.doc.move.from)) return requestTask(look);
  return [decideStep(item, (at) => handleSourceCleaned(at, sweepEnd(at, at.instance.doc.move.from)))];
}

/** For an instance that is not known to run, when it is known that it would not be connected either. */
function disconnectedText({ fleet, instance }: MoveContext): string {
  return isDisconnected(instance.doc)
    ? `, nor would it be connected: ${troublesText(listDisconnectedPorts(fleet, instance))}`
    : '';
}

/**
 * The deadline has passed. Before the migration the instance stays. After it only its target is known: it does not become active before a report
 * that it runs. In any case the operation can be retried, and continues from there.
 */
function failOverdue(look: MoveContext): ReturnType<typeof restoreInPlace> {
  const { item, instance, nowMs } = look;
  const fault = (message: string): InstanceFault => ({ code: 'deadline-passed', message, atMs: nowMs });
  switch (item.doc.step) {
    case 'schedule':
    case 'bind-target':
    case 'unbind-target':
    case 'prepare':
      return restoreInPlace(look, fault('The move passed its deadline. The instance stays where it is.'));
    case 'activate': {
      const { host = '', move } = instance.doc;
      const late = fault(
        `The instance was migrated to host ${host}, which has not reported in time that it runs there${disconnectedText(look)}. Resume it with "muster operations retry ${move.operation}", or delete the instance.`,
      );
      return [putMoving(look, { fault: late }), ...sweepEnd(look, move.from)];
    }
    case 'unbind-source':
      return composeArrival(look);
    case 'plug':
      // It runs, and is shown as degraded from now on.
      return [putMoving(look, { state: 'active', fault: fault(PLUG_LATE) }), ...sweepEnd(look, instance.doc.move.from)];
    case 'clean-source':
      return [...composeArrival(look), ...sweepEnd(look, instance.doc.move.from)];
    default: {
      const { operation, from } = instance.doc.move;
      const message = `The move from ${from} to ${targetOf(instance.doc)} passed its deadline, and cannot go back. Resume it with "muster operations retry ${operation}", or delete the instance. If host ${from} is off for certain, it can be built elsewhere too, with "muster instances rebuild ${instance.id}".`;
      return [putMoving(look, { fault: fault(message) })];
    }
  }
}
