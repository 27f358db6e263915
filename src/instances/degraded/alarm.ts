// What follows from how the ports of instances are: an alarm while an instance is degraded, and work that connects it again. One
// function for the controller and for tests; it looks at what is, and answers nothing when all is as it should be.
import { alarmId, clearAlarm, raiseOrUpdateAlarm } from '../../alarms/index.ts';
import { idOf, type Change, type FleetReader } from '../../fleet/index.ts';
import { DEGRADED, degradedPorts, degradedReason, openReplugItem, type DisconnectedPort } from './degraded.ts';
import { commonSiteOf } from '../scope.ts';
import { INSTANCE, isRelocating } from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';
import { beginReplugOperation } from './replug.ts';

/** A back end says after its bind that a port is plugged: so long nobody is told that it is not. */
const PLUG_GRACE_MS = 10_000;

export interface DegradedDecision {
  readonly changes: readonly Change[];
  /** When to look again because of time alone. */
  readonly recheckAtMs?: number;
}

export function decideDegraded(fleet: FleetReader, id: string, nowMs: number): DegradedDecision {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  const alarm = alarmId(DEGRADED, id);
  const troubled = instance === undefined ? [] : degradedPorts(fleet, instance);
  if (instance === undefined || troubled.length === 0) {
    // Whoever works on it may fail: until that is over it stands.
    const isOver = instance === undefined || !isRelocating(instance.doc.state);
    return { changes: isOver ? clearAlarm(fleet, alarm) : [] };
  }
  const dueAtMs = Math.min(...troubled.map(alarmAtMs));
  if (nowMs < dueAtMs) return { changes: [], recheckAtMs: dueAtMs };
  return { changes: [...raiseDegradedAlarm(fleet, instance, troubled), ...beginReplug(fleet, instance, nowMs)] };
}

function alarmAtMs({ trouble, sinceMs }: DisconnectedPort): number {
  return trouble === 'not-plugged' ? sinceMs + PLUG_GRACE_MS : sinceMs;
}

function raiseDegradedAlarm(
  fleet: FleetReader,
  instance: StoredInstance,
  troubled: readonly DisconnectedPort[],
): Change[] {
  const sinceMs = Math.min(...troubled.map((one) => one.sinceMs));
  const reason = degradedReason(instance, troubled);
  // It may have been moved since, or another of its ports be in trouble: what stands says what is so now.
  return raiseOrUpdateAlarm(fleet, alarmId(DEGRADED, instance.id), {
    severity: 'critical',
    ...commonSiteOf(fleet, [instance]),
    reason,
    sinceMs,
  });
}

function beginReplug(fleet: FleetReader, instance: StoredInstance, nowMs: number): readonly Change[] {
  return openReplugItem(fleet, instance.id) === undefined ? beginReplugOperation(fleet, instance, nowMs) : [];
}
