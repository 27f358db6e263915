// The step of a move after the target runs the instance: the network reports its ports as plugged there, and only then is the copy at the source
// destroyed. Events that a crashed server lost are sent again when the bind is repeated. A target whose ports are not plugged is replaced by another.
import { mark } from '../../fleet/index.ts';
import { wait, type PlannedStep, type RecordStep } from '../../operations/index.ts';
import { recordBuildFailure } from '../../scheduler/index.ts';
import { reportsPlugEvents, listDisconnectedPorts, type DisconnectedPort } from '../degraded/degraded.ts';
import { recordFault, type AttemptFailure } from '../faults.ts';
import { moveOn } from './arrival.ts';
import { composeTargetInstance, type MoveContext } from './context.ts';
import { composeBindOrder } from '../back-end-orders.ts';

/** A port without an event is bound again after this time, which only makes the back end send the event again. */
const REBIND_AFTER_MS = 30_000;

/** The ports that the network has not reported as plugged where the instance is now. */
export function listUnpluggedPorts({ fleet, instance }: Pick<MoveContext, 'fleet' | 'instance'>): DisconnectedPort[] {
  return listDisconnectedPorts(fleet, instance).filter(({ port }) => reportsPlugEvents(fleet, port));
}

/** The start of the wait; the recorded wait may be newer. */
export function pluggingSinceMs({ item, nowMs }: MoveContext): number {
  const { reason } = item.doc;
  const sinceMs = reason?.code === 'ports-not-plugged' ? reason['sinceMs'] : undefined;
  return typeof sinceMs === 'number' ? sinceMs : nowMs;
}

export function waitForPlugs(look: MoveContext, calls: number): RecordStep {
  const { item, instance, nowMs } = look;
  const reason = { code: 'ports-not-plugged', instance: instance.id, sinceMs: pluggingSinceMs(look), calls };
  return wait(item, reason, nowMs + REBIND_AFTER_MS);
}

export function rebindPorts(
  { fleet, item, instance, nowMs }: MoveContext,
  waiting: readonly DisconnectedPort[],
): readonly PlannedStep[] {
  const bound = waiting.flatMap(({ port, trouble }) => (trouble === 'not-plugged' ? [port] : []));
  if (nowMs < (item.doc.retryAtMs ?? 0) || bound.length === 0) return [];
  const targetInstance = composeTargetInstance(instance);
  const pools = targetInstance.doc.attempts.at(-1)?.pools ?? [];
  const order = composeBindOrder(fleet, { instance: targetInstance, host: instance.doc.host ?? '', pools }, bound);
  const { step, attempt } = item.doc;
  const args = order as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** The back end's answer does not matter here: only its plug events do. */
export function handleRebound(look: MoveContext): RecordStep {
  return waitForPlugs(look, Number(look.item.doc.reason?.['calls'] ?? 0) + 1);
}

/** Its ports are bound where it is now, and were not plugged: it runs there, and is moved on. */
export function moveOnUnplugged(look: MoveContext, failed: AttemptFailure): RecordStep {
  const { fleet, instance, nowMs } = look;
  mark('move-arrives-unplugged');
  const { host = '', move } = instance.doc;
  const tries = recordFault(composeTargetInstance(instance).doc, failed).attempts;
  const moved: MoveContext = { ...look, instance: { ...instance, doc: { ...instance.doc, move: { ...move, tries } } } };
  const step = moveOn(moved);
  return { ...step, changes: [...step.changes, ...recordBuildFailure(fleet, host, nowMs)] };
}
