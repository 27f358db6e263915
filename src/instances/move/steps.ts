// The steps of a move until the source migrates the instance: a second claim at another host, and what follows a failed try. Until then the instance keeps
// its host, its ports and its claim.
import { mark, runTrial, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { PORT } from '../../network/index.ts';
import { endSentence, shortenText, siteLimitOf, type RecordStep } from '../../operations/index.ts';
import { recordBuildFailure } from '../../scheduler/index.ts';
import { listDisconnectedPorts, troublesText } from '../degraded/degraded.ts';
import { FAULTS, canRetry, recordFault, type AttemptFailure } from '../faults.ts';
import { dropClaim, composeFault } from '../build/failure.ts';
import { listVacatedHosts, type Attempt, type InstanceFault, type MoveState } from '../model.ts';
import {
  failMove,
  holdEnd,
  dropMoveClaim,
  MOVER,
  advanceMove,
  putMoving,
  putEnded,
  sweepEnd,
  targetOf,
  composeTargetInstance,
  type MoveContext,
  type MovingInstance,
} from './context.ts';
import { nonInlinePorts } from '../back-end-orders.ts';
import { isFencedOrRemoved, isRemoved, placeInstance, portsOf, type Placement } from '../build/placement.ts';
import { undoFailedTry, firstStep, unbindIfUncertain } from './switch-mode.ts';

/** Takes a second claim, or ends the move. Exclusions are in the move's tries, and so outlive a crash. */
export function scheduleMove(context: MoveContext): RecordStep {
  const look = context.instance.doc.state === 'active' ? restartMove(context) : context;
  const { fleet, instance, nowMs } = look;
  if (isFencedOrRemoved(fleet, instance.doc.move.from)) return failSourceLost(look);
  const targetInstance = composeTargetInstance(instance).doc;
  if (!canRetry(targetInstance)) return endMoveInPlace(look, composeFault(targetInstance, undefined, nowMs));
  const placement = placeElsewhere(look);
  if (placement.kind === 'none') return endMoveInPlace(look, composeFault(targetInstance, placement.report, nowMs));
  if (placement.kind === 'fault')
    throw new Error(`a move binds nothing before it switches, but ${placement.fault.code}`);
  const { host, site, pools, claim, mode } = placement;
  const { move } = instance.doc;
  const tried: Attempt = { nth: move.tries.length + 1, host, site, pools: [...pools], atMs: nowMs };
  // A back end outside the journal binds under a serial of this try: late answers to another do not count.
  const reserved = mode === 'ready' ? nonInlinePorts(fleet, portsOf(fleet, instance.doc)) : [];
  const changes = [
    putMoving(look, { move: { ...move, tries: [...move.tries, tried] } }),
    claim,
    ...reserved.map((port) => put(PORT, port.id, { ...port.doc, serial: port.doc.serial + 1 })),
  ];
  const chosen: MovingInstance = {
    ...instance,
    doc: { ...instance.doc, move: { ...move, tries: [...move.tries, tried] } },
  };
  const step = firstStep(fleet, chosen);
  return advanceMove(look, { step, host: step === 'prepare' ? host : null, changes });
}

/** A retry of the operation: from the instance's present host, without the exclusions of earlier tries. */
function restartMove(look: MoveContext): MoveContext {
  const { instance } = look;
  const { doc } = instance;
  const { origin: _, ...rest } = doc.move;
  const movedOff = listVacatedHosts(doc);
  const move: MoveState = { ...rest, from: doc.host ?? '', ...(movedOff.length > 0 && { movedOff }), tries: [] };
  return { ...look, instance: { ...instance, doc: { ...doc, state: 'moving', move } } };
}

function placeElsewhere({ fleet, item, instance, nowMs }: MoveContext): Placement {
  const { id, doc } = composeTargetInstance(instance);
  const request = { id, instance: doc, ports: portsOf(fleet, doc), role: 'move' as const, by: MOVER, nowMs };
  const { from, origin = from } = instance.doc.move;
  return runTrial(fleet, (trial) => {
    // Its copy at its host does not count as a member of its group. That host is excluded anyway.
    trial.add(dropClaim(trial, id));
    return placeInstance(trial, { ...request, within: siteLimitOf(fleet, item.doc), excludedHosts: [from, origin] });
  });
}

/** A try failed before the migration: the target is swept, and another host is chosen. */
export function continueAfterMoveFault(
  look: MoveContext,
  failed: AttemptFailure,
  sweep: typeof sweepEnd = sweepEnd,
): RecordStep {
  const { fleet, instance, nowMs } = look;
  mark('move-rescheduled');
  const target = targetOf(instance.doc);
  const tries = recordFault(composeTargetInstance(instance).doc, failed).attempts;
  const blamed = target !== undefined && FAULTS[failed.fault].excludes === 'host';
  const { step, changes: unbinding } = undoFailedTry(look);
  const changes = [
    putMoving(look, { move: { ...instance.doc.move, tries } }),
    ...dropMoveClaim(fleet, instance.id),
    ...sweep(look, target),
    ...(blamed ? recordBuildFailure(fleet, target, nowMs) : []),
    ...unbinding,
  ];
  return advanceMove(look, { step, host: null, changes });
}

/**
 * The move is over and the instance is where it was, active as before, with the reason. Disconnected ports are reported by the move alone: for the
 * instance that is derived, and may be over soon.
 */
function endMoveInPlace(look: MoveContext, why: InstanceFault): RecordStep {
  return failMove(look, composeInPlaceFault(look, why), restoreInPlace(look, why));
}

/** For an instance whose ports are not connected where it is, that is the most important fact. */
function composeInPlaceFault({ fleet, instance }: MoveContext, why: InstanceFault): InstanceFault {
  const { id, doc } = instance;
  const troubled = listDisconnectedPorts(fleet, instance);
  if (troubled.length === 0) return why;
  const { host = '', move } = doc;
  const here = move.tries.find((one) => one.host === host && one.fault !== undefined);
  const cause = here === undefined ? '' : ` Why it is not connected: ${endSentence(here.text ?? here.fault ?? '')}`;
  const message = `The instance runs on host ${host}, but is not fully connected there: ${troublesText(troubled)}. Move it again with "muster instances move ${id}", or delete it.${cause} Why it was not moved on: ${why.message}`;
  return { ...why, code: here?.fault ?? why.code, message: shortenText(message, 1000) };
}

export function restoreInPlace(look: MoveContext, fault: InstanceFault, sweep: typeof sweepEnd = sweepEnd): Change[] {
  const { fleet, instance } = look;
  return [
    putMoving(look, { state: 'active', fault }),
    ...dropMoveClaim(fleet, instance.id),
    ...unbindIfUncertain(look),
    ...sweep(look, targetOf(instance.doc)),
  ];
}

/** The source is certainly off and has not migrated it. A rebuild is for an operator or a drain to decide. */
export function failSourceLost(look: MoveContext, sweep: typeof sweepEnd = sweepEnd): RecordStep {
  mark('move-source-lost');
  const { fleet, instance } = look;
  const { from } = instance.doc.move;
  return endSourceLost(look, `Host ${from} ${lossText(fleet, from)} before it had migrated the instance.`, sweep);
}

/** The source was ordered to migrate it, and neither end can report what became of that: either of them may have the only copy. */
export function failBothLost(look: MoveContext): RecordStep {
  mark('move-source-lost');
  const { fleet, instance } = look;
  const { from } = instance.doc.move;
  const to = targetOf(instance.doc) ?? '';
  const message = `Host ${from} ${lossText(fleet, from)} while it migrated the instance, and host ${to}, which may have received it, ${lossText(fleet, to)} as well.`;
  return endSourceLost(look, message, holdEnd);
}

function endSourceLost(look: MoveContext, why: string, sweep: typeof sweepEnd): RecordStep {
  const { instance, nowMs } = look;
  const message = `${why} Build it elsewhere with "muster instances rebuild ${instance.id}".`;
  const fault: InstanceFault = { code: 'source-lost', message, atMs: nowMs };
  return failMove(look, fault, restoreInPlace(look, fault, sweep));
}

function lossText(fleet: FleetReader, host: string): string {
  return isRemoved(fleet, host) ? 'was removed' : 'was forced down';
}

/** The source reports that it neither has the instance nor sent it: its place is unknown. */
export function failInstanceLost(look: MoveContext, text: string): RecordStep {
  const { fleet, instance, nowMs } = look;
  const message = shortenText(`Host ${instance.doc.move.from} neither has the instance nor migrated it: ${text}`, 1000);
  const fault: InstanceFault = { code: 'instance-lost', message, atMs: nowMs };
  return failMove(look, fault, [
    putEnded(look, { state: 'error', fault }),
    ...dropMoveClaim(fleet, instance.id),
    ...holdEnd(look, targetOf(instance.doc)),
  ]);
}
