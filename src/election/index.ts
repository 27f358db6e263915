export { lookAtServices } from './decide.ts';
export { electionModel } from './election-model.ts';
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
export { ELECTION, heartbeatsOf } from './settings.ts';
export { heartbeatPeers, watchedOf, watchersOf } from './watchers.ts';
export { BFD_REPORTS, ELECTION_CONTROLLER } from './service-keys.ts';
