// Changes the target of a handover before its switch, or cancels it: the target is no longer a candidate, or the old host stays. After the
// switch a target must never be changed here.
import { idOf, mark, put, type FleetReader } from '../../fleet/index.ts';
import { record, type RecordStep, type StoredItem } from '../../operations/index.ts';
import { isBeforeSwitch, SERVICE, type Handover, type CandidateRejection, type Service } from '../model.ts';
import { clearHandover } from '../designation.ts';
import { findActiveHandover, assessTarget, type TargetQuery, type ActiveHandover } from './target.ts';
import type { ElectedHost } from '../why.ts';

export const HANDOVER_AUTHOR = 'operation:hand-over';

/** What happens to a handover that cannot continue as it is; decided on the newest state. */
export function retargetHandover(fleet: FleetReader, item: StoredItem, request: TargetQuery): RecordStep[] {
  const active = findActiveHandover(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  if (active === undefined || !isBeforeSwitch(active.handover)) return [];
  const target = assessTarget(fleet, active, request);
  if (target.kind === 'another') return [restartWithTarget(item, active, target.choice, request.nowMs)];
  if (target.kind === 'host-stays') return [endAtReturnedHost(item, active, request.nowMs)];
  if (target.kind !== 'abandon') return [];
  return [failHandover(item, active, target.because, request.nowMs)];
}

/** The designated host keeps it. */
export function failHandover(
  item: StoredItem,
  { service, handover: { to } }: ActiveHandover,
  because: CandidateRejection | 'no-presence',
  nowMs: number,
): RecordStep {
  mark('handover-abandoned');
  const reason = { code: 'target-unfit', service: service.id, host: to, because };
  const changes = [put(SERVICE, service.id, clearHandover(service.doc, { by: HANDOVER_AUTHOR, nowMs }))];
  return record(item, { state: 'failed', step: item.doc.step, reason }, { changes });
}

/** The old host is active again: services that were not switched stay, and no other target is tried. */
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

/** From the first phase: nothing is prepared at the new target yet. */
export function restartWithTarget(
  item: StoredItem,
  { service, handover: before }: ActiveHandover,
  { host, why }: ElectedHost,
  nowMs: number,
): RecordStep {
  mark('handover-another-target');
  const next: Handover = { ...before, to: host, why, phase: 'preparing', sinceMs: nowMs };
  const doc: Service = { ...service.doc, handover: next };
  const progress = { state: 'running', step: 'prepare', attempt: item.doc.attempt + 1 } as const;
  return record(item, progress, { changes: [put(SERVICE, service.id, doc)] });
}
