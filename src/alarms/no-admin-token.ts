// The alarm for a fleet without a valid admin token. A fleet that never had one is at its first start: its readiness says so, and no alarm.
import { hadAdmin, hasAdmin } from '../access/index.ts';
import type { Change, FleetReader } from '../fleet/index.ts';
import type { ReasonSentences } from '../operations/index.ts';
import { ALARM, alarmId, clearAlarm, raiseAlarm } from './model.ts';

export const NO_ADMIN_TOKEN = 'no-admin-token';
const ALARM_ID = alarmId(NO_ADMIN_TOKEN, 'fleet');

export function planAdminAlarm(fleet: FleetReader, nowMs: number): Change[] {
  if (hasAdmin(fleet, nowMs)) return clearAlarm(fleet, ALARM_ID);
  // Tokens are forgotten some time after their end; an alarm that is raised by then stays raised.
  if (!hadAdmin(fleet)) return [];
  return raiseAlarm(fleet, ALARM_ID, { severity: 'critical', reason: { code: NO_ADMIN_TOKEN }, sinceMs: nowMs });
}

/** Whether the first start is over: there is or was an admin token. */
export function isFirstStartOver(fleet: FleetReader, nowMs: number): boolean {
  return hasAdmin(fleet, nowMs) || hadAdmin(fleet) || fleet.get(ALARM, ALARM_ID) !== undefined;
}

export const adminTokenSentences: ReasonSentences = {
  [NO_ADMIN_TOKEN]: () =>
    'Every admin token of the fleet has ended: tokens cannot be made, settings not changed and sites not added. Start the server that decides anew: it makes an admin token in its data folder when there is none ("muster serve --new-admin-token").',
};
