// Decides what follows from the ports of instances: an alarm while an instance is degraded, and an operation that connects it again. The controller and
// tests use the same function; it decides from current state, and returns nothing when nothing is to change.
import { alarmId, clearAlarm, raiseOrUpdateAlarm } from '../../alarms/index.ts';
import { idOf, type Change, type FleetReader } from '../../fleet/index.ts';
import { DEGRADED, degradedPorts, degradedReason, openReplugItem, type DisconnectedPort } from './degraded.ts';
import { ENDED, endedReason, findEnded } from './ended.ts';
import { commonSiteOf } from '../scope.ts';
import { INSTANCE, isRelocating } from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';
import { beginReplugOperation } from './replug.ts';

/** A back end reports a port as plugged after its bind: until this time a missing report raises no alarm. */
const PLUG_GRACE_MS = 10_000;

/** Its host starts it again by itself: an alarm is for one that stays away. */
const RESTART_GRACE_MS = 10_000;

export interface DegradedDecision {
  readonly changes: readonly Change[];
  /** When to check again because of time alone. */
  readonly recheckAtMs?: number;
}

export function decideDegraded(fleet: FleetReader, id: string, nowMs: number): DegradedDecision {
  const decisions = [decideDisconnected(fleet, id, nowMs), decideEnded(fleet, id, nowMs)];
  const recheck = decisions.flatMap(({ recheckAtMs }) => recheckAtMs ?? []);
  const changes = decisions.flatMap((one) => one.changes);
  return { changes, ...(recheck.length > 0 && { recheckAtMs: Math.min(...recheck) }) };
}

function decideEnded(fleet: FleetReader, id: string, nowMs: number): DegradedDecision {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  const alarm = alarmId(ENDED, id);
  const ended = instance && findEnded(instance);
  if (instance === undefined || ended === undefined) return { changes: clearAlarm(fleet, alarm) };
  const dueAtMs = ended.atMs + RESTART_GRACE_MS;
  if (nowMs < dueAtMs) return { changes: [], recheckAtMs: dueAtMs };
  const reason = endedReason(instance, ended);
  const raised = { severity: 'critical' as const, ...commonSiteOf(fleet, [instance]), reason, sinceMs: ended.atMs };
  return { changes: raiseOrUpdateAlarm(fleet, alarm, raised) };
}

function decideDisconnected(fleet: FleetReader, id: string, nowMs: number): DegradedDecision {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  const alarm = alarmId(DEGRADED, id);
  const troubled = instance === undefined ? [] : degradedPorts(fleet, instance);
  if (instance === undefined || troubled.length === 0) {
    // An open operation may still fail: the alarm stands until then.
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
  // It may have moved since, or another of its ports be the cause: the alarm states the present cause.
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
