export { ALARM, alarmId, alarmsModel, cleared, raised } from './model.ts';
export type { Alarm } from './model.ts';
