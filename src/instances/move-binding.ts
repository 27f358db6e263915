// How the ports of a moving instance that a back end outside the journal looks after get to the target: bound there before anything
// leaves the source, switched over with the hand-over, and the old binding deleted last. A target that cannot be bound to is
// never handed an instance. A back end that holds one binding per port is bound to the source again when a try comes to nothing.
import { put, type Change, type FleetReader, type Reason } from '../fleet/index.ts';
import { PORT, unasked, unboundPort, type PortAnswer } from '../network/index.ts';
import { wait, type ActionOutcome, type PlannedStep, type RecordStep } from '../operations/index.ts';
import { boundPorts } from './build-orders.ts';
import { faultNamed, type Failed } from './faults.ts';
import { faultThere } from './move-arrival.ts';
import { MOVER, onward, targetOf, towards, type Moving, type MoveLook } from './move-errand.ts';
import { afterMoveFault } from './move-steps.ts';
import { bindOrder, deleteBindingOrder, outsidePorts } from './orders.ts';
import { portsOf, type StoredInstance } from './place.ts';
import { switchOverOf } from './switch-over.ts';

/** A back end that has not answered so often is not asked again in this try. */
const CALLS_MAX = 5;
const AGAIN_MS = 5000;

function act({ item }: MoveLook, order: object): readonly PlannedStep[] {
  const { step, attempt } = item.doc;
  const args = order as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

function isTooEarly({ item, nowMs }: MoveLook): boolean {
  return nowMs < (item.doc.retryAtMs ?? 0);
}

/** The order that binds the ports at the target, before (`prepared`) or after the source has handed the instance over. */
function targetOrder({ fleet, instance }: MoveLook, when: 'before' | 'after'): object {
  const errand = towards(instance);
  const two = switchOverOf(fleet, instance) === 'two-bindings';
  const op = two ? (when === 'before' ? 'add-binding' : 'activate-binding') : 'bind';
  const at = { instance: errand, host: targetOf(instance.doc) ?? '', pools: errand.doc.attempts.at(-1)?.pools ?? [] };
  return { ...bindOrder(fleet, at, outsidePorts(fleet, portsOf(fleet, instance.doc))), op };
}

export function bindTarget(look: MoveLook): readonly PlannedStep[] {
  return isTooEarly(look) ? [] : act(look, targetOrder(look, 'before'));
}

export function switchOver(look: MoveLook): readonly PlannedStep[] {
  return isTooEarly(look) ? [] : act(look, targetOrder(look, 'after'));
}

/** What a try that came to nothing left at the back end: an inactive binding at its target, or the ports bound there. */
export function unbindTarget(look: MoveLook): readonly PlannedStep[] {
  const { fleet, instance } = look;
  if (isTooEarly(look)) return [];
  const outside = outsidePorts(fleet, portsOf(fleet, instance.doc));
  if (switchOverOf(fleet, instance) === 'two-bindings')
    return act(look, deleteBindingOrder(fleet, instance.id, instance.doc.move.tries.at(-1)?.host ?? '', outside));
  const source = atSource(fleet, instance);
  const pools = source.doc.attempts.at(-1)?.pools ?? [];
  return act(look, bindOrder(fleet, { instance: source, host: instance.doc.host ?? '', pools }, outside));
}

export function unbindSource(look: MoveLook): readonly PlannedStep[] {
  const { fleet, instance } = look;
  if (isTooEarly(look)) return [];
  const outside = outsidePorts(fleet, portsOf(fleet, instance.doc));
  return act(look, deleteBindingOrder(fleet, instance.id, instance.doc.move.from, outside));
}

/** The instance as it would read if it were being bound where it is. */
function atSource(fleet: FleetReader, instance: Moving): StoredInstance {
  const pools = portsOf(fleet, instance.doc).map(({ doc }) =>
    doc.binding?.segment === undefined ? `network:${doc.network}` : `segment:${doc.binding.segment}`,
  );
  return { ...instance, doc: { ...instance.doc, attempts: [{ nth: 1, pools, atMs: 0 }] } };
}

interface Answered {
  readonly answers: readonly PortAnswer[] | undefined;
  /** The first that is not as it was ordered. */
  readonly worst: PortAnswer | undefined;
  readonly outcome: ActionOutcome;
}

export function answersOf(outcome: ActionOutcome): Answered {
  const facts = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts : undefined;
  const answers = (facts as { readonly ports?: readonly PortAnswer[] } | undefined)?.ports;
  return { answers, worst: answers?.find((answer) => answer.outcome !== 'ok'), outcome };
}

export function isUnknown({ answers, worst }: Answered): boolean {
  return answers === undefined || worst?.outcome === 'unavailable';
}

export function failedPort({ fleet, instance }: MoveLook, { port, outcome, text }: PortAnswer): Failed {
  const nic = portsOf(fleet, instance.doc).find(({ id }) => id === port)?.doc.nic ?? 0;
  const pool = instance.doc.move.tries.at(-1)?.pools[nic];
  return { fault: faultNamed(outcome), ...(text !== undefined && { text }), ...(pool !== undefined && { pool }) };
}

/** What the back end was asked for, and has not answered: where the instance is meanwhile depends on the step. */
function silentAt({ fleet, item, instance }: MoveLook): Reason {
  const { move, host: at } = instance.doc;
  const facts = { instance: instance.id, fault: 'unavailable' };
  switch (item.doc.step) {
    case 'bind-target':
      return { code: 'target-not-bound', ...facts, host: targetOf(instance.doc), from: move.from };
    case 'unbind-target':
      return switchOverOf(fleet, instance) === 'two-bindings'
        ? { code: 'binding-left', ...facts, host: move.tries.at(-1)?.host, at }
        : { code: 'not-bound-again', ...facts, host: at };
    case 'unbind-source':
      return { code: 'binding-left', ...facts, host: move.from, at };
    default:
      return { code: 'not-bound', ...facts, host: targetOf(instance.doc) };
  }
}

/** Asks again, or answers undefined when that was done often enough. */
export function askAgain(look: MoveLook, answered: Answered, callsMax = CALLS_MAX): RecordStep | undefined {
  const { item, nowMs } = look;
  const calls = Number(item.doc.reason?.['calls'] ?? 0) + 1;
  if (calls >= callsMax) return undefined;
  const waiting = wait(item, { ...(unasked(answered.outcome) ?? silentAt(look)), calls }, nowMs + AGAIN_MS);
  return { ...waiting, progress: { ...waiting.progress, attempt: item.doc.attempt + 1 } };
}

/** Nothing has left the source: a target that cannot be bound to is not the target any more. */
export function boundAtTarget(look: MoveLook, answered: Answered): RecordStep {
  const { fleet, instance } = look;
  const { worst } = answered;
  if (isUnknown(answered)) {
    const text = worst?.text;
    const failed: Failed = { fault: 'back-end-unavailable', ...(text !== undefined && { text }) };
    return askAgain(look, answered) ?? afterMoveFault(look, failed);
  }
  if (worst !== undefined) return afterMoveFault(look, failedPort(look, worst));
  if (switchOverOf(fleet, instance) === 'two-bindings')
    return onward(look, { step: 'prepare', host: targetOf(instance.doc) ?? '' });
  return toMigration(look);
}

/** From here on there is no way back: whatever can be known of the target is looked at once more. */
function toMigration(look: MoveLook): RecordStep {
  const failed = faultThere(look);
  if (failed !== undefined) return afterMoveFault(look, failed);
  return onward(look, { step: 'migrate', host: look.instance.doc.move.from });
}

/** The target is ready. Where there is one binding, it changes hosts now. */
export function prepared(look: MoveLook): RecordStep {
  const { fleet, instance } = look;
  const failed = faultThere(look);
  if (failed !== undefined) return afterMoveFault(look, failed);
  return switchOverOf(fleet, instance) === 'one-binding'
    ? onward(look, { step: 'bind-target', host: null })
    : toMigration(look);
}

/** A back end that does not answer has an inactive binding too many, which the next one replaces. */
export function unboundAtTarget(look: MoveLook, answered: Answered): RecordStep {
  const { fleet, instance, nowMs } = look;
  const next = (changes: readonly Change[] = []): RecordStep => onward(look, { step: 'schedule', host: null, changes });
  if (switchOverOf(fleet, instance) === 'two-bindings')
    return (isUnknown(answered) ? askAgain(look, answered) : undefined) ?? next();
  if (isUnknown(answered)) return askAgain(look, answered, Number.POSITIVE_INFINITY) as RecordStep;
  const good = (answered.answers ?? []).filter(({ outcome }) => outcome === 'ok');
  const bound = boundPorts(fleet, atSource(fleet, instance), good, nowMs);
  // It runs there, and the others could not be connected again.
  const outside = outsidePorts(fleet, portsOf(fleet, instance.doc));
  const left = outside.filter(({ id }) => !good.some(({ port }) => port === id));
  return next([...bound, ...left.map((port) => put(PORT, port.id, unboundPort(port.doc, { by: MOVER, nowMs })))]);
}
