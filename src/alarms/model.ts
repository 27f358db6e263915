// Alarms: what needs the attention of an operator. One alarm per cause and place, raised and cleared by the controller that detects the cause.
import { Type, type Static } from 'typebox';
import {
  idOf,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Id,
  type Index,
  type Model,
  type Reason,
} from '../fleet/index.ts';

const ALARM_SCHEMA = Type.Object(
  {
    severity: Type.Enum(['warning', 'critical']),
    site: Type.Optional(Type.String()),
    reason: Type.Unsafe<Reason>(Type.Object({ code: Type.String() }, { additionalProperties: true })),
    sinceMs: Type.Integer(),
  },
  { additionalProperties: false },
);

export type Alarm = Static<typeof ALARM_SCHEMA>;
export type AlarmId = Id<'alarm'>;

export const ALARM = schemaKind('alarm', ALARM_SCHEMA);

/** Alarms by cause, so that those of one are found without a scan. */
export const ALARMS_BY_CODE: Index<'alarm', Alarm> = {
  name: 'alarms-by-code',
  kind: ALARM,
  keysOf: (doc) => [doc.reason.code],
};

export const alarmsModel: Model = { kinds: [ALARM], indexes: [ALARMS_BY_CODE] };

export function alarmId(code: string, place: string): AlarmId {
  return idOf(ALARM, `${code}:${place}`);
}

/** The change that raises an alarm; none when it stands already. It is raised once, not each time the cause is seen. */
export function raiseAlarm(fleet: FleetReader, id: AlarmId, alarm: Alarm): Change[] {
  return fleet.get(ALARM, id) === undefined ? [put(ALARM, id, alarm)] : [];
}

/** The same, and what stands says what is so now: it stands since it was raised. */
export function raiseOrUpdateAlarm(fleet: FleetReader, id: AlarmId, alarm: Alarm): Change[] {
  const standing = fleet.get(ALARM, id)?.doc;
  if (standing === undefined) return [put(ALARM, id, alarm)];
  const isSame = standing.severity === alarm.severity && textOf(standing.reason) === textOf(alarm.reason);
  return isSame ? [] : [put(ALARM, id, { ...alarm, sinceMs: standing.sinceMs })];
}

/** Stores may keep fields in another order. */
function textOf(reason: Reason): string {
  return JSON.stringify(Object.entries(reason).sort(([one], [other]) => (one < other ? -1 : 1)));
}

export function clearAlarm(fleet: FleetReader, id: AlarmId): Change[] {
  return fleet.get(ALARM, id) === undefined ? [] : [remove(ALARM, id)];
}
