export { ALARM, ALARMS_BY_CODE, alarmId, alarmsModel, clearAlarm, raiseAlarm, raiseOrUpdateAlarm } from './model.ts';
export type { Alarm } from './model.ts';
export { clockJumpedFinding, storeDamagedFinding, historyDivergedFinding, isClockDoubted } from './integrity.ts';
export type { IntegrityFinding } from './integrity.ts';
export { isFirstStartOver } from './no-admin-token.ts';
