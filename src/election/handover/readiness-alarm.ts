// The alarm for a service that its target cannot prepare. It is raised once the wait has lasted longer than hosts take to resolve their next
// hops, and every step of the handover passes here, so that none leaves it behind.
import { alarmId, clearAlarm, raiseOrUpdateAlarm } from '../../alarms/index.ts';
import { idOf, type Change, type FleetReader } from '../../fleet/index.ts';
import type { PlannedStep, RecordStep, StoredItem } from '../../operations/index.ts';
import { SERVICE } from '../model.ts';
import { SERVICE_NOT_READY } from './conntrack-sync.ts';

const RAISED_AFTER_MS = 10_000;
const OPEN_STATES: readonly string[] = ['pending', 'running', 'waiting'];

/** The change that a step makes to the alarm of its service. */
function alarmChanges(fleet: FleetReader, item: StoredItem, { progress }: RecordStep, nowMs: number): Change[] {
  const { id } = item.doc.target;
  const isPreparing = progress.step === 'prepare' && OPEN_STATES.includes(progress.state);
  if (!isPreparing) return clearReadinessAlarm(fleet, id);
  const { reason } = progress;
  // It stands while another target is tried: the service has not moved.
  if (reason?.code !== SERVICE_NOT_READY) return [];
  const sinceMs = fleet.get(SERVICE, idOf(SERVICE, id))?.doc.handover?.sinceMs ?? nowMs;
  if (nowMs - sinceMs < RAISED_AFTER_MS) return [];
  return raiseOrUpdateAlarm(fleet, alarmId(SERVICE_NOT_READY, id), { severity: 'warning', reason, sinceMs });
}

export function clearReadinessAlarm(fleet: FleetReader, service: string): Change[] {
  return clearAlarm(fleet, alarmId(SERVICE_NOT_READY, service));
}

export function addReadinessAlarm(fleet: FleetReader, item: StoredItem, step: RecordStep, nowMs: number): RecordStep {
  const changes = alarmChanges(fleet, item, step, nowMs);
  return changes.length === 0 ? step : { ...step, changes: [...step.changes, ...changes] };
}

/** The same for a step that is planned, or decided later. */
export function addReadinessAlarmToNext(
  fleet: FleetReader,
  item: StoredItem,
  next: PlannedStep,
  nowMs: number,
): PlannedStep {
  switch (next.kind) {
    case 'act':
      return next;
    case 'record':
      return addReadinessAlarm(fleet, item, next, nowMs);
    case 'decide':
      return {
        ...next,
        decide: (at, atMs) => next.decide(at, atMs).map((step) => addReadinessAlarm(at, item, step, atMs)),
      };
  }
}
