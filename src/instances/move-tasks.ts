// What the two hosts of a move are asked to do, and what their answers and those of the network's back end mean.
import { mergeChanges, type Change, type FleetReader } from '../fleet/index.ts';
import type { PortAnswer } from '../network/index.ts';
import {
  wait,
  type ActionOutcome,
  type OperationKind,
  type RecordStep,
  type StoredItem,
  type TaskAnswer,
} from '../operations/index.ts';
import { buildArgs, hostsWork, nicArgs } from './build-answers.ts';
import { boundPorts } from './build-orders.ts';
import { found, keptPromises } from './build-steps.ts';
import { tellsOfPlugs } from './degraded.ts';
import { faultNamed, type Failed } from './faults.ts';
import { arrived, cutOff, isCutOff, switched, wentOn } from './move-arrival.ts';
import {
  answersOf,
  askAgain,
  boundAtTarget,
  failedPort,
  isUnknown,
  prepared,
  unboundAtTarget,
} from './move-binding.ts';
import {
  heldBack,
  modeThere,
  movingBy,
  onMoving,
  onward,
  targetOf,
  towards,
  type Moving,
  type MoveLook,
} from './move-errand.ts';
import { boundOnceMore } from './move-plug.ts';
import { afterMoveFault, instanceLost, sourceLost } from './move-steps.ts';
import { outsidePorts } from './orders.ts';
import { portsOf, reachesPools } from './place.ts';
import { switchOverOf } from './switch-over.ts';

/** What a host or a back end could not do, when there is no way back, is asked for again after this time. */
const AGAIN_MS = 5000;

/** What a host or a back end says when it is the ports that keep an instance from running there. */
const OF_PORTS: readonly string[] = [
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

export const moveTask: NonNullable<OperationKind['task']> = (fleet, item) => {
  const instance = movingBy(item, found(fleet, item.id).instance);
  if (instance?.doc.state !== 'moving' || item.doc.state !== 'running') return undefined;
  const { kind } = instance.doc.move;
  const named = { instance: instance.id };
  switch (item.doc.step) {
    case 'prepare':
      return { kind: 'prepare', args: prepareArgs(fleet, instance) };
    case 'migrate':
      return { kind: 'migrate', args: { ...named, target: targetOf(instance.doc) ?? '', kind } };
    case 'ask-target':
      // Its ports are bound afterwards, if it is there at all.
      return { kind: 'activate', args: { ...named, nics: toldNics(fleet, instance), kind, ifReceived: true } };
    case 'activate':
      return { kind: 'activate', args: { ...named, ...activateArgs(fleet, instance), kind } };
    case 'clean-source':
      return { kind: 'destroy', args: { ...named, nics: [], ports: 'leave' } };
    default:
      return undefined;
  }
};

/** The ports stay connected at the source meanwhile: the target is told of them, and connects none. */
function prepareArgs(fleet: FleetReader, instance: Moving): Readonly<Record<string, unknown>> {
  const nics = toldNics(fleet, instance);
  return { ...buildArgs(fleet, towards(instance), 'ready'), nics, kind: instance.doc.move.kind };
}

function toldNics(fleet: FleetReader, instance: Moving): readonly object[] {
  // A target that binds by itself would do so at once: it hears of the ports when it is to run the instance.
  if (modeThere(fleet, instance) !== 'ready') return [];
  const { doc: errand } = towards(instance);
  const pools = errand.attempts.at(-1)?.pools ?? [];
  return portsOf(fleet, errand).map(({ doc: { binding: _, ...doc }, ...port }, nic) =>
    nicArgs(fleet, { ...port, doc }, pools[nic]),
  );
}

function activateArgs(fleet: FleetReader, instance: Moving): Readonly<Record<string, unknown>> {
  const mode = modeThere(fleet, instance);
  const { nics } = buildArgs(fleet, towards(instance), mode);
  return { nics, ...(mode !== 'ready' && { network: mode }) };
}

export function answeredMove(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  return onMoving({ fleet, item: item.id, nowMs }, (look) => {
    switch (item.doc.step) {
      case 'prepare':
        return answer.outcome === 'done' ? prepared(look) : afterMoveFault(look, failedBy(answer));
      case 'migrate':
        return answer.outcome === 'done' ? handedOver(look) : notMigrated(look, answer);
      case 'ask-target':
        return answer.outcome === 'done' ? handedOver(look) : notFoundThere(look, answer);
      case 'activate':
        return activated(look, answer);
      case 'clean-source':
        return answer.outcome === 'done' ? cleaned(look) : again(look, 'not-destroyed', answer);
      default:
        throw new Error(`instance-move has no task in step "${item.doc.step}"`);
    }
  });
}

function failedBy({ facts, problems }: TaskAnswer): Failed {
  const named = faultNamed(facts?.['fault']);
  const text = problems?.join('; ');
  // A fault that the table does not know is one of the move here, not of a build.
  return { fault: named === 'spawn-failed' ? 'migration-failed' : named, ...(text !== undefined && { text }) };
}

function again({ item, instance, nowMs }: MoveLook, code: string, { problems = [] }: TaskAnswer): RecordStep {
  return wait(item, { code, instance: instance.id, host: item.doc.host, problems }, nowMs + AGAIN_MS);
}

/**
 * Somebody says that the source is off, and the target has nothing of it yet. Who says so may be wrong, and the source may send it
 * still: what the target has is held.
 */
function notFoundThere(look: MoveLook, answer: TaskAnswer): RecordStep {
  const fault = answer.facts?.['fault'];
  const nothing = fault === 'nothing-received' || fault === 'not-prepared';
  return nothing ? sourceLost(look, heldBack) : again(look, 'not-activated', answer);
}

/** The source has sent it. Whoever binds outside the journal does so first, then the instance is at its target. */
function handedOver(look: MoveLook): RecordStep {
  const { fleet, instance } = look;
  const outside = outsidePorts(fleet, portsOf(fleet, instance.doc));
  const step = modeThere(fleet, instance) === 'ready' && outside.length > 0 ? 'bind' : 'switch';
  return onward(look, { step, host: null });
}

/**
 * An instance that does not run at the source any more may be on its way: it is not called back, and not given up. A source that
 * does not say whether it runs there may have sent it: what the target has is held until the instance is known to run.
 */
function notMigrated(look: MoveLook, answer: TaskAnswer): RecordStep {
  const runs = answer.facts?.['runs'];
  if (runs === true) return afterMoveFault(look, failedBy(answer));
  if (runs !== false || answer.facts === undefined) return afterMoveFault(look, failedBy(answer), heldBack);
  if (answer.facts['fault'] === 'instance-gone') return instanceLost(look, (answer.problems ?? []).join('; '));
  return again(look, 'not-migrated', answer);
}

/** Nothing of it is left at the source but, where the back end holds two, the binding that was active before. */
export function cleaned(look: MoveLook, changes: readonly Change[] = []): RecordStep {
  const { fleet, instance } = look;
  if (switchOverOf(fleet, instance) !== 'two-bindings') return arrived(look, changes);
  return onward(look, { step: 'unbind-source', host: null, changes });
}

function activated(look: MoveLook, answer: TaskAnswer): RecordStep {
  const { fleet, instance, nowMs } = look;
  const without = isCutOff(instance.doc);
  if (answer.outcome === 'failed') {
    const ofPorts = !without && OF_PORTS.includes(String(answer.facts?.['fault']));
    return ofPorts ? cutOff(look, failedBy(answer)) : again(look, 'not-activated', answer);
  }
  if (without) return wentOn(look);
  const made = hostsWork(fleet, towards(instance), answer, nowMs);
  if (made.kind === 'fault') return cutOff(look, made.failed);
  const promises = made.changes.length === 0 ? [] : keptPromises(fleet, instance.id);
  const changes = mergeChanges([...made.changes, ...promises]);
  const isToldOf = portsOf(fleet, instance.doc).some((port) => tellsOfPlugs(fleet, port));
  return isToldOf ? onward(look, { step: 'plug', host: null, changes }) : plugged(look, changes);
}

/** It is connected where it is now: the source has nothing of it to give any more. */
export function plugged(look: MoveLook, changes: readonly Change[] = []): RecordStep {
  return onward(look, { step: 'clean-source', host: look.instance.doc.move.from, changes });
}

/** The back end's answer. After the hand-over a back end that says nothing is asked again some times. */
export function observedMove(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  return onMoving({ fleet, item: item.id, nowMs }, (look) => {
    const answered = answersOf(outcome);
    switch (look.item.doc.step) {
      case 'bind-target':
        return boundAtTarget(look, answered);
      case 'unbind-target':
        return unboundAtTarget(look, answered);
      case 'plug':
        return boundOnceMore(look);
      case 'unbind-source':
        // An inactive binding too many does no harm: the next one replaces it.
        return (isUnknown(answered) ? askAgain(look, answered) : undefined) ?? arrived(look);
      default:
        return boundAfterHandOver(look, answered);
    }
  });
}

function boundAfterHandOver(look: MoveLook, answered: ReturnType<typeof answersOf>): RecordStep {
  const { fleet, instance, nowMs } = look;
  const { answers, worst } = answered;
  if (isUnknown(answered)) {
    const text = worst?.text;
    const failed: Failed = { fault: 'back-end-unavailable', ...(text !== undefined && { text }) };
    return askAgain(look, answered) ?? cutOff(look, failed, boundThere(look, answers));
  }
  if (worst !== undefined) return cutOff(look, failedPort(look, worst), boundThere(look, answers));
  const { host = '', pools } = instance.doc.move.tries.at(-1) ?? { pools: [] };
  if (!reachesPools(fleet, host, pools)) return cutOff(look, { fault: 'mapping-gone' }, boundThere(look, answers));
  return switched(look, boundPorts(fleet, towards(instance), answers ?? [], nowMs));
}

/** The ports that the back end did bind at the target, and that the target reaches the segments of. */
function boundThere({ fleet, instance, nowMs }: MoveLook, answers: readonly PortAnswer[] = []): Change[] {
  const { host = '', pools = [] } = instance.doc.move.tries.at(-1) ?? {};
  const good = answers.filter(({ port, outcome }) => {
    const nic = instance.doc.nics.findIndex((one) => one.port === port);
    return outcome === 'ok' && reachesPools(fleet, host, pools.slice(nic, nic + 1));
  });
  return boundPorts(fleet, towards(instance), good, nowMs);
}
