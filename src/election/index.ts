export { lookAtServices } from './decide.ts';
export { designationEvacuator } from './evacuator.ts';
export { electionModel } from './election-model.ts';
export { handOver } from './hand-over.ts';
export {
  isBeforeSwitch,
  SERVICE,
  SERVICES_BY_STANDBY,
  SERVICES_BY_SUBJECT,
  SERVICES_TOUCHING_HOST,
  serviceId,
} from './model.ts';
export type { HandOver, Service, ServiceType, StoredService } from './model.ts';
export { sensesOf } from './majority.ts';
export type { Hearing } from './majority.ts';
export { rebalanceServices } from './rebalance.ts';
export { electionSentences } from './sentences.ts';
export { ELECTION, heartbeatsOf } from './settings.ts';
export { heartbeatPeers, watchedOf, watchersOf } from './watchers.ts';
export { unreadyServices } from './unready.ts';
