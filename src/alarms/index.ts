export { ALARM, alarmId, alarmsModel, cleared, raised } from './model.ts';
export type { Alarm, AlarmId } from './model.ts';
