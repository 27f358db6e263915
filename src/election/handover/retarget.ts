// A hand-over before its switch that goes to another host than it began with, or ends where it is: its target cannot take the service
// any more, or the old host stays.
import { idOf, mark, put, type FleetReader } from '../../fleet/index.ts';
import { record, type RecordStep, type StoredItem } from '../../operations/index.ts';
import { isBeforeSwitch, SERVICE, type Handover, type Rejection, type Service } from '../model.ts';
import { clearHandover } from '../designation.ts';
import { findActiveHandover, assessTarget, type TargetQuery, type ActiveHandover } from './target.ts';
import type { Choice } from '../why.ts';

export const HANDOVER_AUTHOR = 'operation:hand-over';

/** What becomes of a hand-over that cannot go on as it is; decided on the newest state. */
export function retargetHandover(fleet: FleetReader, item: StoredItem, ask: TargetQuery): RecordStep[] {
  const active = findActiveHandover(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  if (active === undefined || !isBeforeSwitch(active.handover)) return [];
  const target = assessTarget(fleet, active, ask);
  if (target.kind === 'another') return [restartWithTarget(item, active, target.choice, ask.nowMs)];
  if (target.kind === 'host-stays') return [endAtReturnedHost(item, active, ask.nowMs)];
  if (target.kind !== 'give-up') return [];
  return [failHandover(item, active, target.because, ask.nowMs)];
}

/** Whoever has it keeps it. */
export function failHandover(
  item: StoredItem,
  { service, handover: { to } }: ActiveHandover,
  because: Rejection | 'no-presence',
  nowMs: number,
): RecordStep {
  mark('handover-given-up');
  const reason = { code: 'target-unfit', service: service.id, host: to, because };
  const changes = [put(SERVICE, service.id, clearHandover(service.doc, { by: HANDOVER_AUTHOR, nowMs }))];
  return record(item, { state: 'failed', step: item.doc.step, reason }, { changes });
}

/** Its host is back in service: what was not switched is not begun any more, and no other host is tried. */
function endAtReturnedHost(
  item: StoredItem,
  { service, handover: { from } }: ActiveHandover,
  nowMs: number,
): RecordStep {
  mark('handover-host-stays');
  const reason = { code: 'host-stays', service: service.id, host: from };
  const changes = [put(SERVICE, service.id, clearHandover(service.doc, { by: HANDOVER_AUTHOR, nowMs }))];
  return record(item, { state: 'done', step: item.doc.step, reason }, { changes });
}

/** From the beginning: nothing is built there yet. */
export function restartWithTarget(
  item: StoredItem,
  { service, handover: before }: ActiveHandover,
  { host, why }: Choice,
  nowMs: number,
): RecordStep {
  mark('handover-another-target');
  const next: Handover = { ...before, to: host, why, phase: 'preparing', sinceMs: nowMs };
  const doc: Service = { ...service.doc, handover: next };
  const progress = { state: 'running', step: 'prepare', attempt: item.doc.attempt + 1 } as const;
  return record(item, progress, { changes: [put(SERVICE, service.id, doc)] });
}
