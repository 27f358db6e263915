export {
  clearForcedDown,
  disableHost,
  editHost,
  enableHost,
  findHost,
  forceDownHost,
  joinHosts,
  unknownHost,
} from './decide.ts';
export type { Decree, EditHost, HostSpec, JoinHosts, StoredHost } from './decide.ts';
export { hostJoin, JOIN_DEADLINE_MS, joinSentences } from './join.ts';
export { LIVENESS } from './liveness.ts';
export { livenessSentences } from './liveness-plan.ts';
export {
  CAPACITY,
  CONNECTION_STATES,
  HOST,
  HOST_FACTS,
  HOST_STATES,
  HOSTS_BY_SITE,
  HOSTS_BY_STATE,
  hostsModel,
  hostsOfSite,
  isTombstoned,
} from './model.ts';
export type { ConnectionState, Host, HostId, HostState } from './model.ts';
export { selfPart } from './view.ts';
export type { ViewPart } from './view.ts';
