export { reconcileServices } from './decide.ts';
export { electionModel } from './election-model.ts';
export {
  isBeforeSwitch,
  SERVICE,
  SERVICES_BY_STANDBY,
  SERVICES_BY_SUBJECT,
  SERVICES_TOUCHING_HOST,
  serviceId,
} from './model.ts';
export type { Handover, Service, ServiceType, StoredService } from './model.ts';
export { bfdDetectorOf } from './majority.ts';
export type { PeerBfdStatus } from './majority.ts';
export { rebalanceServices } from './rebalance.ts';
export { ELECTION, bfdSettingsOf } from './settings.ts';
export { bfdPeers, bfdObservedHostsOf, bfdObserverHostsOf } from './watchers.ts';
export { BFD_REPORTS, ELECTION_CONTROLLER } from './service-keys.ts';
