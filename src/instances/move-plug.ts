// The step of a move after the target runs the instance: the network says that its ports are plugged there, and only then does the
// source lose what it has. What a server that died has not heard is said again when the bind is repeated. A target that does not
// get them plugged is left for another.
import { mark } from '../fleet/index.ts';
import { wait, type PlannedStep, type RecordStep } from '../operations/index.ts';
import { buildFailed } from '../scheduler/index.ts';
import { tellsOfPlugs, troubledPorts, type TroubledPort } from './degraded.ts';
import { withFault, type Failed } from './faults.ts';
import { wentOn } from './move-arrival.ts';
import { towards, type MoveLook } from './move-errand.ts';
import { bindOrder } from './orders.ts';

/** A port that nothing was said of is bound once more after this time, which changes nothing but that it is said again. */
const SAID_AGAIN_MS = 30_000;

/** The ports of which the network has not said that they are plugged where the instance is now. */
export function unpluggedAt({ fleet, instance }: Pick<MoveLook, 'fleet' | 'instance'>): TroubledPort[] {
  return troubledPorts(fleet, instance).filter(({ port }) => tellsOfPlugs(fleet, port));
}

/** Since when it is waited for; the wait itself may have been written down anew. */
export function pluggingSinceMs({ item, nowMs }: MoveLook): number {
  const { reason } = item.doc;
  const sinceMs = reason?.code === 'ports-not-plugged' ? reason['sinceMs'] : undefined;
  return typeof sinceMs === 'number' ? sinceMs : nowMs;
}

export function waitForPlugs(look: MoveLook, calls: number): RecordStep {
  const { item, instance, nowMs } = look;
  const reason = { code: 'ports-not-plugged', instance: instance.id, sinceMs: pluggingSinceMs(look), calls };
  return wait(item, reason, nowMs + SAID_AGAIN_MS);
}

export function bindOnceMore(
  { fleet, item, instance, nowMs }: MoveLook,
  waiting: readonly TroubledPort[],
): readonly PlannedStep[] {
  const bound = waiting.flatMap(({ port, trouble }) => (trouble === 'not-plugged' ? [port] : []));
  if (nowMs < (item.doc.retryAtMs ?? 0) || bound.length === 0) return [];
  const errand = towards(instance);
  const pools = errand.doc.attempts.at(-1)?.pools ?? [];
  const order = bindOrder(fleet, { instance: errand, host: instance.doc.host ?? '', pools }, bound);
  const { step, attempt } = item.doc;
  const args = order as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** Whatever the back end answers: what counts is what it says of the plugs. */
export function boundOnceMore(look: MoveLook): RecordStep {
  return waitForPlugs(look, Number(look.item.doc.reason?.['calls'] ?? 0) + 1);
}

/** Its ports are bound where it is now, and were not plugged: it runs there, and is moved on. */
export function leftUnplugged(look: MoveLook, failed: Failed): RecordStep {
  const { fleet, instance, nowMs } = look;
  mark('move-arrives-unplugged');
  const { host = '', move } = instance.doc;
  const tries = withFault(towards(instance).doc, failed).attempts;
  const moved: MoveLook = { ...look, instance: { ...instance, doc: { ...instance.doc, move: { ...move, tries } } } };
  const step = wentOn(moved);
  return { ...step, changes: [...step.changes, ...buildFailed(fleet, host, nowMs)] };
}
