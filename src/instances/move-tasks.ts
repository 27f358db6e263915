// What the two hosts of a move are asked to do, and what their answers and those of the network's back end mean.
import { merged, type FleetReader } from '../fleet/index.ts';
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
import { faultNamed, type Failed } from './faults.ts';
import { arrived, switched } from './move-arrival.ts';
import { modeThere, movingBy, onMoving, onward, targetOf, towards, type Moving, type MoveLook } from './move-errand.ts';
import { afterMoveFault, instanceLost } from './move-steps.ts';
import { outsidePorts } from './orders.ts';
import { portsOf } from './place.ts';

/** What a host or a back end could not do, when there is no way back, is asked for again after this time. */
const AGAIN_MS = 5000;

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
  const errand = towards(instance);
  const pools = errand.doc.attempts.at(-1)?.pools ?? [];
  const nics = portsOf(fleet, errand.doc).map(({ doc: { binding: _, ...doc }, ...port }, nic) =>
    nicArgs(fleet, { ...port, doc }, pools[nic]),
  );
  // A target that binds by itself would do so at once: it hears of the ports when it is to run the instance.
  const told = modeThere(fleet, instance) === 'ready' ? nics : [];
  return { ...buildArgs(fleet, errand, 'ready'), nics: told, kind: instance.doc.move.kind };
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
        return answer.outcome === 'done'
          ? onward(look, { step: 'migrate', host: look.instance.doc.move.from })
          : afterMoveFault(look, failedBy(answer));
      case 'migrate':
        return answer.outcome === 'done' ? handedOver(look) : notMigrated(look, answer);
      case 'activate':
        return activated(look, answer);
      case 'clean-source':
        return answer.outcome === 'done' ? arrived(look) : again(look, 'not-destroyed', answer);
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

/** The source has sent it. Whoever binds outside the journal does so first, then the instance is at its target. */
function handedOver(look: MoveLook): RecordStep {
  const { fleet, instance } = look;
  const outside = outsidePorts(fleet, portsOf(fleet, instance.doc));
  const step = modeThere(fleet, instance) === 'ready' && outside.length > 0 ? 'bind' : 'switch';
  return onward(look, { step, host: null });
}

/** An instance that does not run at the source any more may be on its way: it is not called back, and not given up. */
function notMigrated(look: MoveLook, answer: TaskAnswer): RecordStep {
  if (answer.facts?.['runs'] !== false) return afterMoveFault(look, failedBy(answer));
  if (answer.facts['fault'] === 'instance-gone') return instanceLost(look, (answer.problems ?? []).join('; '));
  return again(look, 'not-migrated', answer);
}

function activated(look: MoveLook, answer: TaskAnswer): RecordStep {
  const { fleet, instance, nowMs } = look;
  if (answer.outcome === 'failed') return again(look, 'not-activated', answer);
  const made = hostsWork(fleet, towards(instance), answer, nowMs);
  if (made.kind === 'fault') return again(look, 'not-activated', { ...answer, problems: [made.failed.fault] });
  const promises = made.changes.length === 0 ? [] : keptPromises(fleet, instance.id);
  const changes = merged([...made.changes, ...promises]);
  return onward(look, { step: 'clean-source', host: instance.doc.move.from, changes });
}

/** The back end's answer to the bind at the target. Whatever it could not do, it is asked again: the instance is there. */
export function observedMove(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  return onMoving({ fleet, item: item.id, nowMs }, (look) => {
    const facts = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts : undefined;
    const answers = (facts as { readonly ports?: readonly PortAnswer[] } | undefined)?.ports;
    const worst = answers?.find((answer) => answer.outcome !== 'ok');
    if (answers !== undefined && worst === undefined)
      return switched(look, boundPorts(fleet, towards(look.instance), answers, nowMs));
    const host = targetOf(look.instance.doc);
    const reason = { code: 'not-bound', instance: look.instance.id, host, fault: worst?.outcome ?? 'unavailable' };
    const waiting = wait(item, reason, nowMs + AGAIN_MS);
    return { ...waiting, progress: { ...waiting.progress, attempt: item.doc.attempt + 1 } };
  });
}
