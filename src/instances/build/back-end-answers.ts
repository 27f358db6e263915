// Maps the network back end's answers to steps of a build. An unknown result repeats the same call; a definite failure ends the try or the build,
// as the table of faults says.
import { mark, put, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import {
  recordHeldAddresses,
  recordPortBound,
  canonicalizeAddresses,
  revokeReassignedAddresses,
  recordPortCreated,
  PORT,
  undeliveredReason,
  unbindPort,
  type Port,
  type PortAnswer,
  type PortId,
  type StoredPort,
} from '../../network/index.ts';
import {
  retryWithBackoff,
  record,
  type ActionOutcome,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import {
  continueAfterFault,
  BUILDER,
  loadItem,
  finishRelease,
  failBuild,
  isBeingBuilt,
  clearPromisedAddresses,
  endSuperseded,
} from './steps.ts';
import { FAULTS, toFaultCode, type FaultCode } from '../faults.ts';
import { nonInlinePorts, segmentOf } from '../back-end-orders.ts';
import { portsOf, canReachPools, type StoredInstance } from './placement.ts';

/** After this many calls without an answer the back end counts as failed. */
const ORDER_TRIES_MAX = 3;

export function handleBuildOutcome(
  fleet: FleetReader,
  item: StoredItem,
  outcome: ActionOutcome,
  nowMs: number,
): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  // A concurrent delete, for example: it ends whatever the back end has done meanwhile.
  if (instance === undefined || !isBeingBuilt(instance.doc)) return endSuperseded(item, instance);
  const answers = portAnswersOf(outcome);
  const worst = answers?.find(({ outcome: one }) => one !== 'ok' && !(one === 'not-found' && isReleaseStep(item)));
  if (answers === undefined || worst?.outcome === 'unavailable')
    return handleNoAnswer(fleet, {
      item,
      instance,
      nowMs,
      text: worst?.text ?? failureTextOf(outcome),
      undelivered: undeliveredReason(outcome),
    });
  switch (item.doc.step) {
    case 'ports':
      return worst === undefined
        ? record(
            item,
            { state: 'running', step: 'schedule' },
            { changes: recordCreatedPorts(fleet, instance, answers, nowMs) },
          )
        : abortBuild(fleet, { item, instance, nowMs }, worst);
    case 'bind':
      return worst === undefined
        ? recordBoundStep(fleet, { item, instance, nowMs }, answers)
        : continueAfterFault(
            fleet,
            item,
            { fault: toFaultCode(worst.outcome), ...textOf(worst), ...poolOf(instance, fleet, worst) },
            nowMs,
          );
    case 'unbind':
      return record(
        item,
        { state: 'running', step: 'schedule' },
        { changes: unbindNonInlinePorts(fleet, instance, answers, nowMs) },
      );
    default:
      return worst === undefined
        ? finishRelease(fleet, item, nowMs)
        : waitForRelease({ item, instance, nowMs }, answers);
  }
}

interface AnswerContext {
  readonly item: StoredItem;
  readonly instance: StoredInstance;
  readonly nowMs: number;
}

/** When something is ended, a missing port counts as ended. */
function isReleaseStep({ doc }: StoredItem): boolean {
  return doc.step === 'unbind' || doc.step === 'release';
}

function portAnswersOf(outcome: ActionOutcome): readonly PortAnswer[] | undefined {
  if (outcome.kind !== 'applied' && outcome.kind !== 'already') return undefined;
  const { ports = [] } = (outcome.facts ?? {}) as { readonly ports?: readonly PortAnswer[] };
  return ports.map((answer) =>
    canonicalizeAddresses(answer.addresses ?? []) === undefined ? malformedAnswer(answer) : answer,
  );
}

function malformedAnswer({ port }: PortAnswer): PortAnswer {
  return { port, outcome: 'binding-failed', text: 'The back end answered with something that is no address.' };
}

/** The driver's message for a failed call. */
function failureTextOf(outcome: ActionOutcome): string | undefined {
  const text = outcome.kind === 'failed' ? outcome.reason['text'] : undefined;
  return typeof text === 'string' ? text : undefined;
}

interface UnansweredOrder extends AnswerContext {
  readonly text: string | undefined;
  /** Set when the back end was not even called. */
  readonly undelivered: Reason | undefined;
}

/** No answer: the same call again, and after some of them another host, or the end. An ending call is repeated without limit. */
function handleNoAnswer(
  fleet: FleetReader,
  { item, instance, nowMs, text, undelivered: why }: UnansweredOrder,
): RecordStep {
  const { step, attempt } = item.doc;
  if (attempt < ORDER_TRIES_MAX || isReleaseStep(item)) {
    const silent = { code: 'back-end-unavailable', instance: instance.id, ...(text !== undefined && { text }) };
    return retryOrder(item, why ?? silent, nowMs);
  }
  if (step === 'bind')
    return continueAfterFault(
      fleet,
      item,
      { fault: 'back-end-unavailable', ...(text !== undefined && { text }) },
      nowMs,
    );
  const message = text ?? FAULTS['back-end-unavailable'].sentence;
  return failBuild(fleet, item, instance, { fault: { code: 'back-end-unavailable', message, atMs: nowMs }, nowMs });
}

/** A port that the back end keeps stays in the journal: otherwise its addresses there would be lost from sight. */
function waitForRelease({ item, instance, nowMs }: AnswerContext, answers: readonly PortAnswer[]): RecordStep {
  const left = answers.filter(({ outcome }) => outcome !== 'ok' && outcome !== 'not-found');
  const reason = { code: 'ports-not-released', instance: instance.id, ports: left.map(({ port }) => port) };
  return retryOrder(item, reason, nowMs);
}

function retryOrder(item: StoredItem, reason: Reason, nowMs: number): RecordStep {
  mark('back-end-order-retried');
  return retryWithBackoff(item, reason, { nowMs });
}

/** No further try: a port that cannot be created fails on every host. */
function abortBuild(fleet: FleetReader, { item, instance, nowMs }: AnswerContext, worst: PortAnswer): RecordStep {
  const code: FaultCode = worst.outcome === 'pool-empty' ? 'addresses-exhausted' : toFaultCode(worst.outcome);
  const message = worst.text ?? FAULTS[code].sentence;
  return failBuild(fleet, item, instance, { fault: { code, message, atMs: nowMs }, nowMs });
}

function recordCreatedPorts(
  fleet: FleetReader,
  instance: StoredInstance,
  answers: readonly PortAnswer[],
  nowMs: number,
): Change[] {
  const made = pairAnswers(fleet, instance, answers).map(({ port, answer: { mac, addresses = [] } }) => ({
    id: port.id,
    doc: recordPortCreated(port.doc, { addresses, ...(mac !== undefined && { mac }), by: BUILDER, nowMs }),
  }));
  return putWithRevocations(fleet, made);
}

function recordBoundStep(
  fleet: FleetReader,
  { item, instance, nowMs }: AnswerContext,
  answers: readonly PortAnswer[],
): RecordStep {
  const host = instance.doc.host ?? '';
  // The segments that the host reaches may have changed during the call.
  if (!canReachPools(fleet, host, instance.doc.attempts.at(-1)?.pools ?? [])) {
    mark('bind-mapping-gone');
    return continueAfterFault(fleet, item, { fault: 'mapping-gone' }, nowMs);
  }
  const changes = [...recordBoundPorts(fleet, instance, answers, nowMs), ...clearPromisedAddresses(fleet, instance.id)];
  const attempt = instance.doc.attempts.length;
  return record(item, { state: 'running', step: 'build', host, attempt }, { changes });
}

/** The ports as the back end, or an older host, has bound them. */
export function recordBoundPorts(
  fleet: FleetReader,
  instance: StoredInstance,
  answers: readonly PortAnswer[],
  nowMs: number,
): Change[] {
  const pools = instance.doc.attempts.at(-1)?.pools ?? [];
  const bound = pairAnswers(fleet, instance, answers).map(({ port, answer }) => {
    const segment = segmentOf(pools[port.doc.nic ?? 0] ?? '');
    const doc = recordPortBound(port.doc, {
      host: instance.doc.host ?? '',
      serial: port.doc.serial,
      ...(segment !== undefined && { segment }),
      type: answer.type ?? 'unknown',
      addresses: answer.addresses ?? [],
      ...(answer.mac !== undefined && { mac: answer.mac }),
      by: BUILDER,
      nowMs,
    });
    return { id: port.id, doc };
  });
  return putWithRevocations(fleet, bound);
}

/** The ports after the answer, and those that the back end took an address from without the journal knowing yet. */
function putWithRevocations(
  fleet: FleetReader,
  ports: readonly { readonly id: PortId; readonly doc: Port }[],
): Change[] {
  return [...ports.map(({ id, doc }) => put(PORT, id, doc)), ...revokeReassignedAddresses(fleet, ports).changes];
}

/** With the addresses that they have there now: a bind that was refused may have taken some already, for a segment that the next host is not in. */
function unbindNonInlinePorts(
  fleet: FleetReader,
  instance: StoredInstance,
  answers: readonly PortAnswer[],
  nowMs: number,
): Change[] {
  const unbound = nonInlinePorts(fleet, portsOf(fleet, instance.doc)).map(({ id, doc }) => {
    const { addresses } = answers.find(({ port }) => port === id) ?? {};
    const held = addresses === undefined ? doc : recordHeldAddresses(doc, addresses);
    return { id, doc: unbindPort(held, { by: BUILDER, nowMs }) };
  });
  return putWithRevocations(fleet, unbound);
}

function pairAnswers(fleet: FleetReader, instance: StoredInstance, answers: readonly PortAnswer[]) {
  return portsOf(fleet, instance.doc).flatMap((port): { port: StoredPort; answer: PortAnswer }[] => {
    const answer = answers.find((one) => one.port === port.id);
    return answer === undefined ? [] : [{ port, answer }];
  });
}

function textOf({ text }: PortAnswer): { readonly text?: string } {
  return text === undefined ? {} : { text };
}

function poolOf(instance: StoredInstance, fleet: FleetReader, answer: PortAnswer): { readonly pool?: string } {
  const port = portsOf(fleet, instance.doc).find(({ id }) => id === answer.port);
  const pool = instance.doc.attempts.at(-1)?.pools[port?.doc.nic ?? 0];
  return pool === undefined ? {} : { pool };
}
