// Alarms: what a person should look at now. One alarm per cause and place, raised and cleared by whoever sees the cause.
import { Type, type Static } from 'typebox';
import {
  idOf,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Id,
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

export const alarmsModel: Model = { kinds: [ALARM] };

export function alarmId(code: string, place: string): AlarmId {
  return idOf(ALARM, `${code}:${place}`);
}

/** The change that raises an alarm; none when it stands already. It is told once, not each time it is seen. */
export function raised(fleet: FleetReader, id: AlarmId, alarm: Alarm): Change[] {
  return fleet.get(ALARM, id) === undefined ? [put(ALARM, id, alarm)] : [];
}

export function cleared(fleet: FleetReader, id: AlarmId): Change[] {
  return fleet.get(ALARM, id) === undefined ? [] : [remove(ALARM, id)];
}
