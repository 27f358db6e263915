export { BUILD_FAILURES, buildFailed, buildWentWell } from './build-failures.ts';
export { groupsKept, schedulerModel } from './model.ts';
export { reportText, stageSentence } from './report-sentences.ts';
export { reportSteps, reportWithinSite } from './report.ts';
export { GROUP_POLICIES } from './request.ts';
export type * from './request.ts';
export { schedule, takenBy } from './schedule.ts';
export { PACKING, SCHEDULER, SPREADING } from './settings.ts';
export type { SchedulerSettings } from './settings.ts';
