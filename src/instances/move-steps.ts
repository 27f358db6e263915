// The steps of a move until the source hands the instance over: a second claim at another host, and what follows when a try
// comes to nothing. Until then the instance has its host, its ports and its claim as before.
import { mark, runTrial, put, type Change } from '../fleet/index.ts';
import { PORT } from '../network/index.ts';
import { siteLimitOf, type RecordStep } from '../operations/index.ts';
import { buildFailed } from '../scheduler/index.ts';
import { troubledPorts, troublesText } from './degraded.ts';
import { FAULTS, mayRetry, withFault, type Failed } from './faults.ts';
import { asSentence, claimGone, faultOf } from './give-up.ts';
import { hostsLeft, type Attempt, type InstanceFault, type Move } from './model.ts';
import {
  ended,
  heldBack,
  moveClaimGone,
  MOVER,
  onward,
  putMoving,
  putSettled,
  swept,
  targetOf,
  towards,
  type MoveLook,
  type Moving,
} from './move-errand.ts';
import { outsidePorts } from './orders.ts';
import { isConfirmedGone, place, portsOf, type Placement } from './place.ts';
import { afterFailedTry, firstStep, maybeElsewhere } from './switch-over.ts';

/** Takes a second claim, or ends the move. What is excluded is in the move's tries, and so outlives a crash. */
export function scheduledMove(asked: MoveLook): RecordStep {
  const look = asked.instance.doc.state === 'active' ? begunAgain(asked) : asked;
  const { fleet, instance, nowMs } = look;
  if (isConfirmedGone(fleet, instance.doc.move.from)) return sourceLost(look);
  const errand = towards(instance).doc;
  if (!mayRetry(errand)) return stays(look, faultOf(errand, undefined, nowMs));
  const placement = placeElsewhere(look);
  if (placement.kind === 'none') return stays(look, faultOf(errand, placement.report, nowMs));
  if (placement.kind === 'fault')
    throw new Error(`a move binds nothing before it switches, but ${placement.fault.code}`);
  const { host, site, pools, claim, mode } = placement;
  const { move } = instance.doc;
  const tried: Attempt = { nth: move.tries.length + 1, host, site, pools: [...pools], atMs: nowMs };
  // A back end outside the journal binds under a serial of this try: what comes late from another does not count.
  const reserved = mode === 'ready' ? outsidePorts(fleet, portsOf(fleet, instance.doc)) : [];
  const changes = [
    putMoving(look, { move: { ...move, tries: [...move.tries, tried] } }),
    claim,
    ...reserved.map((port) => put(PORT, port.id, { ...port.doc, serial: port.doc.serial + 1 })),
  ];
  const chosen: Moving = { ...instance, doc: { ...instance.doc, move: { ...move, tries: [...move.tries, tried] } } };
  const step = firstStep(fleet, chosen);
  return onward(look, { step, host: step === 'prepare' ? host : null, changes });
}

/** The operation is tried again: from where the instance is now, with everything allowed that was not asked to be otherwise. */
function begunAgain(look: MoveLook): MoveLook {
  const { instance } = look;
  const { doc } = instance;
  const { origin: _, ...asked } = doc.move;
  const movedOff = hostsLeft(doc);
  const move: Move = { ...asked, from: doc.host ?? '', ...(movedOff.length > 0 && { movedOff }), tries: [] };
  return { ...look, instance: { ...instance, doc: { ...doc, state: 'moving', move } } };
}

function placeElsewhere({ fleet, item, instance, nowMs }: MoveLook): Placement {
  const { id, doc } = towards(instance);
  const ask = { id, instance: doc, ports: portsOf(fleet, doc), role: 'move' as const, by: MOVER, nowMs };
  const { from, origin = from } = instance.doc.move;
  return runTrial(fleet, (trial) => {
    // What it has at its host is no neighbour of its own: its group is looked at without it. That host is out anyway.
    trial.add(claimGone(trial, id));
    return place(trial, { ...ask, within: siteLimitOf(fleet, item.doc), excludedHosts: [from, origin] });
  });
}

/** A try came to nothing before the instance was handed over: the target is swept, and another host is looked for. */
export function afterMoveFault(look: MoveLook, failed: Failed, sweep: typeof swept = swept): RecordStep {
  const { fleet, instance, nowMs } = look;
  mark('move-goes-on-elsewhere');
  const target = targetOf(instance.doc);
  const tries = withFault(towards(instance).doc, failed).attempts;
  const blamed = target !== undefined && FAULTS[failed.fault].excludes === 'host';
  const { step, changes: unbinding } = afterFailedTry(look);
  const changes = [
    putMoving(look, { move: { ...instance.doc.move, tries } }),
    ...moveClaimGone(fleet, instance.id),
    ...sweep(look, target),
    ...(blamed ? buildFailed(fleet, target, nowMs) : []),
    ...unbinding,
  ];
  return onward(look, { step, host: null, changes });
}

/**
 * The move is over and the instance is where it was, active as before; it says why it did not move. That its ports are not
 * connected is said by the move alone: of the instance it is derived, and may be over soon.
 */
function stays(look: MoveLook, why: InstanceFault): RecordStep {
  return ended(look, saidOf(look, why), stayed(look, why));
}

/** Of an instance whose ports are not connected where it is, that is what has to be known first. */
function saidOf({ fleet, instance }: MoveLook, why: InstanceFault): InstanceFault {
  const { id, doc } = instance;
  const troubled = troubledPorts(fleet, instance);
  if (troubled.length === 0) return why;
  const { host = '', move } = doc;
  const here = move.tries.find((one) => one.host === host && one.fault !== undefined);
  const cause = here === undefined ? '' : ` Why it is not connected: ${asSentence(here.text ?? here.fault ?? '')}`;
  const message = `The instance runs on host ${host}, but is not fully connected there: ${troublesText(troubled)}. Move it again with "muster instances move ${id}", or delete it.${cause} Why it was not moved on: ${why.message}`;
  return { ...why, code: here?.fault ?? why.code, message: message.slice(0, 1000) };
}

export function stayed(look: MoveLook, fault: InstanceFault, sweep: typeof swept = swept): Change[] {
  const { fleet, instance } = look;
  return [
    putMoving(look, { state: 'active', fault }),
    ...moveClaimGone(fleet, instance.id),
    ...maybeElsewhere(look),
    ...sweep(look, targetOf(instance.doc)),
  ];
}

/** The source is off for certain and has not handed it over. Whether it is built elsewhere is for others to decide. */
export function sourceLost(look: MoveLook, sweep: typeof swept = swept): RecordStep {
  mark('move-source-lost');
  const { instance, nowMs } = look;
  const message = `Host ${instance.doc.move.from} was forced down or removed before it handed the instance over. Build it elsewhere with "muster instances rebuild ${instance.id}".`;
  const fault: InstanceFault = { code: 'source-lost', message, atMs: nowMs };
  return ended(look, fault, stayed(look, fault, sweep));
}

/** The source says that it neither has the instance nor sent it: it is nowhere that anybody knows of. */
export function instanceLost(look: MoveLook, text: string): RecordStep {
  const { fleet, instance, nowMs } = look;
  const message = `Host ${instance.doc.move.from} neither has the instance nor handed it over: ${text}`.slice(0, 1000);
  const fault: InstanceFault = { code: 'instance-lost', message, atMs: nowMs };
  return ended(look, fault, [
    putSettled(look, { state: 'error', fault }),
    ...moveClaimGone(fleet, instance.id),
    ...heldBack(look, targetOf(instance.doc)),
  ]);
}
