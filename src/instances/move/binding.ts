// Binds the ports of a moving instance at a back end outside the journal: at the target before anything leaves the source, activated with the
// migration, and the old binding deleted last. An instance must never be migrated to a target that cannot be bound. Where a back end holds one
// binding per port, the ports are bound to the source again when a try fails.
import { put, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import { PORT, undeliveredReason, unbindPort, type PortAnswer } from '../../network/index.ts';
import { wait, type ActionOutcome, type PlannedStep, type RecordStep } from '../../operations/index.ts';
import { recordBoundPorts } from '../build/back-end-answers.ts';
import { toFaultCode, type AttemptFailure } from '../faults.ts';
import { targetFaultOf } from './arrival.ts';
import {
  MOVER,
  advanceMove,
  targetOf,
  composeTargetInstance,
  type MovingInstance,
  type MoveContext,
} from './context.ts';
import { continueAfterMoveFault } from './steps.ts';
import { composeBindOrder, composeDeleteBindingOrder, nonInlinePorts } from '../back-end-orders.ts';
import { portsOf, type StoredInstance } from '../build/placement.ts';
import { switchModeOf } from './switch-mode.ts';

/** After this many calls without an answer the back end is not called again in this try. */
const ORDER_TRIES_MAX = 5;
const ORDER_RETRY_MS = 5000;

function orderBackEnd({ item }: MoveContext, order: object): readonly PlannedStep[] {
  const { step, attempt } = item.doc;
  const args = order as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

function isTooEarly({ item, nowMs }: MoveContext): boolean {
  return nowMs < (item.doc.retryAtMs ?? 0);
}

/** The order that binds the ports at the target, before (`prepared`) or after the migration. */
function composeTargetOrder({ fleet, instance }: MoveContext, when: 'before' | 'after'): object {
  const targetInstance = composeTargetInstance(instance);
  const two = switchModeOf(fleet, instance) === 'two-bindings';
  const op = two ? (when === 'before' ? 'add-binding' : 'activate-binding') : 'bind';
  const at = {
    instance: targetInstance,
    host: targetOf(instance.doc) ?? '',
    pools: targetInstance.doc.attempts.at(-1)?.pools ?? [],
  };
  return { ...composeBindOrder(fleet, at, nonInlinePorts(fleet, portsOf(fleet, instance.doc))), op };
}

export function bindTarget(look: MoveContext): readonly PlannedStep[] {
  return isTooEarly(look) ? [] : orderBackEnd(look, composeTargetOrder(look, 'before'));
}

export function switchOver(look: MoveContext): readonly PlannedStep[] {
  return isTooEarly(look) ? [] : orderBackEnd(look, composeTargetOrder(look, 'after'));
}

/** What a failed try left at the back end: an inactive binding at its target, or the ports bound there. */
export function unbindTarget(look: MoveContext): readonly PlannedStep[] {
  const { fleet, instance } = look;
  if (isTooEarly(look)) return [];
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  if (switchModeOf(fleet, instance) === 'two-bindings')
    return orderBackEnd(
      look,
      composeDeleteBindingOrder(fleet, instance.id, instance.doc.move.tries.at(-1)?.host ?? '', outside),
    );
  const source = composeSourceInstance(fleet, instance);
  const pools = source.doc.attempts.at(-1)?.pools ?? [];
  return orderBackEnd(
    look,
    composeBindOrder(fleet, { instance: source, host: instance.doc.host ?? '', pools }, outside),
  );
}

export function unbindSource(look: MoveContext): readonly PlannedStep[] {
  const { fleet, instance } = look;
  if (isTooEarly(look)) return [];
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  return orderBackEnd(look, composeDeleteBindingOrder(fleet, instance.id, instance.doc.move.from, outside));
}

/** The instance as it would be if it were being bound where it is. */
function composeSourceInstance(fleet: FleetReader, instance: MovingInstance): StoredInstance {
  const pools = portsOf(fleet, instance.doc).map(({ doc }) =>
    doc.binding?.segment === undefined ? `network:${doc.network}` : `segment:${doc.binding.segment}`,
  );
  return { ...instance, doc: { ...instance.doc, attempts: [{ nth: 1, pools, atMs: 0 }] } };
}

interface BackEndAnswer {
  readonly answers: readonly PortAnswer[] | undefined;
  /** The first port that is not as ordered. */
  readonly worst: PortAnswer | undefined;
  readonly outcome: ActionOutcome;
}

export function readAnswer(outcome: ActionOutcome): BackEndAnswer {
  const facts = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts : undefined;
  const answers = (facts as { readonly ports?: readonly PortAnswer[] } | undefined)?.ports;
  return { answers, worst: answers?.find((answer) => answer.outcome !== 'ok'), outcome };
}

export function isUnanswered({ answers, worst }: BackEndAnswer): boolean {
  return answers === undefined || worst?.outcome === 'unavailable';
}

export function portFailureOf({ fleet, instance }: MoveContext, { port, outcome, text }: PortAnswer): AttemptFailure {
  const nic = portsOf(fleet, instance.doc).find(({ id }) => id === port)?.doc.nic ?? 0;
  const pool = instance.doc.move.tries.at(-1)?.pools[nic];
  return { fault: toFaultCode(outcome), ...(text !== undefined && { text }), ...(pool !== undefined && { pool }) };
}

/** The open order to the back end: where the instance is meanwhile depends on the step. */
function silenceReason({ fleet, item, instance }: MoveContext): Reason {
  const { move, host: at } = instance.doc;
  const facts = { instance: instance.id, fault: 'unavailable' };
  switch (item.doc.step) {
    case 'bind-target':
      return { code: 'target-not-bound', ...facts, host: targetOf(instance.doc), from: move.from };
    case 'unbind-target':
      return switchModeOf(fleet, instance) === 'two-bindings'
        ? { code: 'binding-left', ...facts, host: move.tries.at(-1)?.host, at }
        : { code: 'not-bound-again', ...facts, host: at };
    case 'unbind-source':
      return { code: 'binding-left', ...facts, host: move.from, at };
    default:
      return { code: 'not-bound', ...facts, host: targetOf(instance.doc) };
  }
}

/** Sends the order again, or returns undefined after too many tries. */
export function retryOrder(
  look: MoveContext,
  answered: BackEndAnswer,
  callsMax = ORDER_TRIES_MAX,
): RecordStep | undefined {
  const { item, nowMs } = look;
  const calls = Number(item.doc.reason?.['calls'] ?? 0) + 1;
  if (calls >= callsMax) return undefined;
  const waiting = wait(
    item,
    { ...(undeliveredReason(answered.outcome) ?? silenceReason(look)), calls },
    nowMs + ORDER_RETRY_MS,
  );
  return { ...waiting, progress: { ...waiting.progress, attempt: item.doc.attempt + 1 } };
}

/** Nothing has left the source: a target that cannot be bound is excluded. */
export function handleTargetBound(look: MoveContext, answered: BackEndAnswer): RecordStep {
  const { fleet, instance } = look;
  const { worst } = answered;
  if (isUnanswered(answered)) {
    const text = worst?.text;
    const failed: AttemptFailure = { fault: 'back-end-unavailable', ...(text !== undefined && { text }) };
    return retryOrder(look, answered) ?? continueAfterMoveFault(look, failed);
  }
  if (worst !== undefined) return continueAfterMoveFault(look, portFailureOf(look, worst));
  if (switchModeOf(fleet, instance) === 'two-bindings')
    return advanceMove(look, { step: 'prepare', host: targetOf(instance.doc) ?? '' });
  return beginMigration(look);
}

/** From here on there is no way back: everything that can be known of the target is checked once more. */
function beginMigration(look: MoveContext): RecordStep {
  const failed = targetFaultOf(look);
  if (failed !== undefined) return continueAfterMoveFault(look, failed);
  return advanceMove(look, { step: 'migrate', host: look.instance.doc.move.from });
}

/** The target is ready. Where there is one binding, it changes hosts now. */
export function handlePrepared(look: MoveContext): RecordStep {
  const { fleet, instance } = look;
  const failed = targetFaultOf(look);
  if (failed !== undefined) return continueAfterMoveFault(look, failed);
  return switchModeOf(fleet, instance) === 'one-binding'
    ? advanceMove(look, { step: 'bind-target', host: null })
    : beginMigration(look);
}

/** A back end that does not answer has an extra inactive binding, which the next one replaces. */
export function handleTargetUnbound(look: MoveContext, answered: BackEndAnswer): RecordStep {
  const { fleet, instance, nowMs } = look;
  const next = (changes: readonly Change[] = []): RecordStep =>
    advanceMove(look, { step: 'schedule', host: null, changes });
  if (switchModeOf(fleet, instance) === 'two-bindings')
    return (isUnanswered(answered) ? retryOrder(look, answered) : undefined) ?? next();
  if (isUnanswered(answered)) return retryOrder(look, answered, Number.POSITIVE_INFINITY) as RecordStep;
  const good = (answered.answers ?? []).filter(({ outcome }) => outcome === 'ok');
  const bound = recordBoundPorts(fleet, composeSourceInstance(fleet, instance), good, nowMs);
  // It runs there, and the others could not be connected again.
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  const left = outside.filter(({ id }) => !good.some(({ port }) => port === id));
  return next([...bound, ...left.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: MOVER, nowMs })))]);
}
