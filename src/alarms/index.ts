export { ALARM, alarmId, alarmsModel, cleared, raised } from './model.ts';
export type { Alarm } from './model.ts';
export { clockJumped, damagedFile, divergedHistory, integritySentences, isClockDoubted } from './integrity.ts';
export type { IntegrityFinding } from './integrity.ts';
