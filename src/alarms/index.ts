export { ALARM, ALARMS_BY_CODE, alarmId, alarmsModel, cleared, raised, raisedOrUpdated } from './model.ts';
export type { Alarm } from './model.ts';
export { clockJumped, damagedFile, divergedHistory, isClockDoubted } from './integrity.ts';
export type { IntegrityFinding } from './integrity.ts';
