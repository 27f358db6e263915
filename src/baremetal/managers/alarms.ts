// Alarms of managers: one that was lost, and that none is left to act on machines. They say what is so now: raised and cleared from the documents.
import { ALARMS_BY_CODE, alarmId, clearAlarm, raiseAlarm, type Alarm } from '../../alarms/index.ts';
import type { Change, FleetReader, Id } from '../../fleet/index.ts';
import { MANAGER, type Manager } from '../model.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { isOnDuty } from './right.ts';

export const MANAGER_LOST = 'manager-lost';
export const NO_MANAGER_ALIVE = 'no-manager-alive';
const FLEET = 'fleet';

export function lostAlarmId(manager: string): Id<'alarm'> {
  return alarmId(MANAGER_LOST, manager);
}

/** The changes that bring the alarms to what is so. `lost`: managers that the same commit declares lost. */
export function reconcileManagerAlarms(fleet: FleetReader, lost: ReadonlySet<string>, nowMs: number): Change[] {
  const changes: Change[] = [];
  const standing = new Set([...fleet.find(ALARMS_BY_CODE, MANAGER_LOST)].map(({ id }) => id));
  let [alive, gone] = [0, 0];
  for (const { id, doc } of fleet.all(MANAGER)) {
    const isLost = doc.state === 'lost' || lost.has(id);
    if (isLost) {
      gone += 1;
      changes.push(...raiseAlarm(fleet, lostAlarmId(id), lostAlarm(doc, nowMs)));
      standing.delete(lostAlarmId(id));
    } else if (isOnDuty(doc)) alive += 1;
  }
  for (const id of standing) changes.push(...clearAlarm(fleet, id));
  const nodes = fleet.projection(MANAGED_NODES).count;
  const none = alarmId(NO_MANAGER_ALIVE, FLEET);
  const isWanted = alive === 0 && (gone > 0 || nodes > 0);
  const alarm: Alarm = { severity: 'critical', reason: { code: NO_MANAGER_ALIVE }, sinceMs: nowMs };
  changes.push(...(isWanted ? raiseAlarm(fleet, none, alarm) : clearAlarm(fleet, none)));
  return changes;
}

function lostAlarm({ name, site, host }: Manager, nowMs: number): Alarm {
  return {
    severity: 'warning',
    ...(site !== undefined && { site }),
    reason: { code: MANAGER_LOST, manager: name, ...(host !== undefined && { host }) },
    sinceMs: nowMs,
  };
}
