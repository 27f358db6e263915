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
export { bfdDetectorOf } from './bfd-majority.ts';
export type { PeerBfdStatus } from './bfd-majority.ts';
export type { IsBfdDownByMajority } from './health.ts';
export { rebalanceServices } from './rebalance.ts';
export { ELECTION, bfdSettingsOf } from './settings.ts';
export { bfdPeers, bfdObservedHostsOf, bfdObserverHostsOf } from './bfd-peers.ts';
export { BFD_REPORTS, ELECTION_CONTROLLER } from './service-keys.ts';
