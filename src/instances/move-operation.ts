// The operation `instance-move`: find a host, make it ready, hand the instance over, switch its ports and its claim, run it
// there, clean up behind it. A crash anywhere goes on from the last step.
import { idOf } from '../fleet/index.ts';
import {
  decideLater,
  expectUnchanged,
  record,
  wait,
  type PlannedStep,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { itemsOfEvent, itemsOfHost } from './clean.ts';
import { notPlugged, PLUG_WAIT_MS, troubledPorts, troublesText } from './degraded.ts';
import { INSTANCE, type InstanceFault } from './model.ts';
import { arrival, hasRoomThere, isCutOff, switched, targetLost } from './move-arrival.ts';
import { bindTarget, switchOver, unbindSource, unbindTarget } from './move-binding.ts';
import {
  heldBack,
  movingBy,
  notOurs,
  onMoving,
  onward,
  putMoving,
  swept,
  targetOf,
  type MoveLook,
} from './move-errand.ts';
import { bindOnceMore, leftUnplugged, pluggingSinceMs, unpluggedAt, waitForPlugs } from './move-plug.ts';
import { afterMoveFault, scheduledMove, sourceLost, stayed } from './move-steps.ts';
import { answeredMove, cleaned, moveTask, observedMove, plugged } from './move-tasks.ts';
import { isAway, isConfirmedGone, type StoredInstance } from './place.ts';

export const instanceMove: OperationKind = {
  name: 'instance-move',
  steps: [
    'schedule',
    'bind-target',
    'prepare',
    'migrate',
    'ask-target',
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
    because: 'an instance that is being handed over can only go forward; one that finds no host stays where it is',
  },
  retry: {
    kind: 'does',
    what: 'what the deadline cut short goes on from where it was; instances that stayed where they were are tried again',
  },
  rollback: { kind: 'none', because: 'move the instances back instead' },

  plan: (fleet, _operation, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      const moving = movingBy(item, instance);
      return moving === undefined ? [left(item, instance)] : nextStep({ fleet, item, instance: moving, nowMs });
    }),

  observe: (fleet, item, outcome, nowMs) => observedMove(fleet, item, outcome, nowMs),
  task: (fleet, item) => moveTask(fleet, item),
  handleTaskAnswer: (fleet, item, answer, nowMs) => answeredMove(fleet, item, answer, nowMs),

  onDeadline: (fleet, item, nowMs) => {
    const instance = movingBy(item, fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id)));
    if (instance?.doc.state !== 'moving') return { changes: [], expects: [] };
    return { changes: tooLate({ fleet, item, instance, nowMs }), expects: [expectUnchanged(INSTANCE, instance)] };
  },

  itemsToWake: (fleet, change) => [
    ...itemsOfHost(fleet, change.kind, (change.after ?? change.before)?.id),
    ...itemsOfEvent(fleet, change),
  ],
};

const PLUG_LATE = 'The network did not report its ports as plugged in time.';

/** A move whose last step was cut short by its deadline has left the rest to a sweep: there is nothing more to do. */
function left(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  const over = instance?.doc.state === 'active' && ['clean-source', 'unbind-source'].includes(item.doc.step);
  return over ? record(item, { state: 'done', step: item.doc.step }) : notOurs(item, instance);
}

function nextStep(look: MoveLook): readonly PlannedStep[] {
  const { item, instance } = look;
  if (instance.doc.state === 'active') return [later(item, scheduledMove)];
  switch (item.doc.step) {
    case 'schedule':
      return [later(item, scheduledMove)];
    case 'bind-target':
      return whileBothThere(look) ?? bindTarget(look);
    case 'unbind-target':
      return unbindTarget(look);
    case 'unbind-source':
      return unbindSource(look);
    case 'prepare':
      return whileBothThere(look) ?? asked(look);
    case 'migrate':
      return toMigrate(look);
    case 'ask-target':
      return toAskTarget(look);
    case 'bind':
    case 'switch':
      return toSwitch(look);
    case 'activate':
      return toActivate(look);
    case 'plug':
      return toPlug(look);
    case 'clean-source':
      return toClean(look);
    default:
      throw new Error(`instance-move has no step "${item.doc.step}"`);
  }
}

/** Everything that changes documents is decided on the newest state: a delete may have been faster. */
function later(item: StoredItem, step: (look: MoveLook) => RecordStep): PlannedStep {
  return decideLater(item, (fleet, nowMs) => [onMoving({ fleet, item: item.id, nowMs }, step)]);
}

/** A task for a host that was not asked yet, or has to be asked again. */
function asked({ item, nowMs }: MoveLook): readonly PlannedStep[] {
  const { step, state, attempt, retryAtMs = 0 } = item.doc;
  if (state === 'running' || nowMs < retryAtMs) return [];
  return [record(item, { state: 'running', step, attempt: attempt + 1 })];
}

/** What follows when one of the two hosts is lost before the source was asked to hand over; undefined while both are there. */
function whileBothThere(look: MoveLook): readonly PlannedStep[] | undefined {
  const { fleet, item, instance } = look;
  if (isConfirmedGone(fleet, instance.doc.move.from)) return [later(item, (at) => sourceLost(at))];
  if (!isAway(fleet, targetOf(instance.doc) ?? '') && hasRoomThere(look)) return undefined;
  return [later(item, (at) => afterMoveFault(at, { fault: 'host-lost' }))];
}

/**
 * Only the source knows whether it has handed the instance over: whatever becomes of the target, its answer decides. From one
 * that is off for certain there is none: the target may have the only copy then, and is asked.
 */
function toMigrate(look: MoveLook): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const { from } = instance.doc.move;
  if (isConfirmedGone(fleet, from))
    return [later(item, (at) => onward(at, { step: 'ask-target', host: targetOf(at.instance.doc) ?? '' }))];
  if (isAway(fleet, from)) return [wait(item, { code: 'source-not-heard', instance: instance.id, host: from })];
  return asked(look);
}

function toAskTarget(look: MoveLook): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const host = targetOf(instance.doc) ?? '';
  // Both are off: whichever of them has it may have the only copy.
  if (isConfirmedGone(fleet, host)) return [later(item, (at) => sourceLost(at, heldBack))];
  const { from } = instance.doc.move;
  return isAway(fleet, host)
    ? [wait(item, { code: 'target-unasked', instance: instance.id, host, from })]
    : asked(look);
}

function toSwitch(look: MoveLook): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const host = targetOf(instance.doc) ?? '';
  if (isConfirmedGone(fleet, host) || !hasRoomThere(look)) return [later(item, targetLost)];
  if (item.doc.step === 'switch') return [later(item, (at) => switched(at))];
  return switchOver(look);
}

function toActivate(look: MoveLook): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  const host = instance.doc.host ?? '';
  if (isConfirmedGone(fleet, host)) return [later(item, targetLost)];
  return isAway(fleet, host) ? [wait(item, { code: 'target-not-heard', instance: instance.id, host })] : asked(look);
}

/** A target whose ports are not plugged is left for another, as one that could not bind them. */
function toPlug(look: MoveLook): readonly PlannedStep[] {
  const { fleet, item, instance, nowMs } = look;
  if (isConfirmedGone(fleet, instance.doc.host ?? '')) return [later(item, targetLost)];
  const waiting = unpluggedAt(look);
  if (waiting.length === 0) return [later(item, (at) => plugged(at))];
  const failed = waiting.find(({ trouble }) => trouble === 'plug-failed');
  if (failed !== undefined || nowMs >= pluggingSinceMs(look) + PLUG_WAIT_MS)
    return [later(item, (at) => leftUnplugged(at, notPlugged(failed)))];
  if (item.doc.state !== 'waiting') return [waitForPlugs(look, 0)];
  return bindOnceMore(look, waiting);
}

/** A source that is away is swept when it is back, by work of its own: the instance runs, and need not wait for it. */
function toClean(look: MoveLook): readonly PlannedStep[] {
  const { fleet, item, instance } = look;
  if (!isAway(fleet, instance.doc.move.from)) return asked(look);
  return [later(item, (at) => cleaned(at, swept(at, at.instance.doc.move.from)))];
}

/** Said of an instance that nobody knows to run, when it is known that it would not be connected either. */
function unconnected({ fleet, instance }: MoveLook): string {
  return isCutOff(instance.doc) ? `, nor would it be connected: ${troublesText(troubledPorts(fleet, instance))}` : '';
}

/**
 * The deadline has passed. Before the hand-over the instance stays. After it nothing can be said but that it is on its way: it
 * is not called active before somebody said that it runs. In any case the operation can be retried, and goes on from there.
 */
function tooLate(look: MoveLook): ReturnType<typeof stayed> {
  const { item, instance, nowMs } = look;
  const fault = (message: string): InstanceFault => ({ code: 'deadline-passed', message, atMs: nowMs });
  switch (item.doc.step) {
    case 'schedule':
    case 'bind-target':
    case 'unbind-target':
    case 'prepare':
      return stayed(look, fault('The move took longer than it may. The instance stays where it is.'));
    case 'activate': {
      const { host = '', move } = instance.doc;
      const late = fault(
        `The instance was handed over to host ${host}, which has not said in time that it runs there${unconnected(look)}. Go on with it by "muster operations retry ${move.operation}", or delete the instance.`,
      );
      return [putMoving(look, { fault: late }), ...swept(look, move.from)];
    }
    case 'unbind-source':
      return arrival(look);
    case 'plug':
      // It runs, and is shown as degraded from now on.
      return [putMoving(look, { state: 'active', fault: fault(PLUG_LATE) }), ...swept(look, instance.doc.move.from)];
    case 'clean-source':
      return [...arrival(look), ...swept(look, instance.doc.move.from)];
    default: {
      const { operation, from } = instance.doc.move;
      const message = `The move from ${from} to ${targetOf(instance.doc)} took longer than it may, and cannot go back. Go on with it by "muster operations retry ${operation}", or delete the instance. If host ${from} is off for certain, it can be built elsewhere too, with "muster instances rebuild ${instance.id}".`;
      return [putMoving(look, { fault: fault(message) })];
    }
  }
}
