export { canonicalizeAddresses } from './addresses.ts';
export { nicRequirementsOf, attachNicPort } from './attach.ts';
export { capabilitiesOf, CAPABILITIES, NetworkUnavailable } from './back-end.ts';
export type * from './back-end.ts';
export { backEndSentences } from './back-end-sentences.ts';
export { bindPorts, bindAllPossible, recordPortBound, releasePort, recordPortCreated, unbindPort } from './bind.ts';
export type { BindRequest, BindFault } from './bind.ts';
export { CLAIM, claimId, CLAIMS_BY_HOST } from './claim.ts';
export type { Claim } from './claim.ts';
export {
  isMissingCredentials,
  hasMissingCredentialsAlarm,
  hasCredentials,
  updateCredentialsAlarm,
  parseCredentials,
} from './credentials.ts';
export type { Credentials } from './credentials.ts';
export { isPlugged, NETWORK_EVENT, networkEventsModel, latestPlugEvent, recordNetworkEvents } from './event.ts';
export type { NetworkEvent, NetworkEventReport } from './event.ts';
export { createRouter } from './decide-router.ts';
export { createTransportZone, zoneOfHost } from './decide-transport-zone.ts';
export { revokeReassignedAddresses } from './given-away.ts';
export {
  DEFAULT_PROJECT,
  NETWORK,
  PORT,
  PORTS_BY_HOST,
  PORTS_BY_INSTANCE,
  PORTS_BY_NETWORK,
  PROJECT,
  PORTS_BY_SEGMENT,
  SEGMENT,
  SUBNET,
  SUBNETS_BY_NETWORK,
} from './model.ts';
export type { BackEndName, Network, Port, PortId, Segment, Subnet } from './model.ts';
export { bandwidthClass, pciClass } from './need.ts';
export type { NicRequirements, PoolChoice, PoolKey } from './need.ts';
export { networkModel } from './network-model.ts';
export { canonicalIp, contains, parseCidr, parseIp } from './ip.ts';
export { composeOrderPools } from './order-pools.ts';
export { externalReachPredicate } from './outside.ts';
export { portEvacuator } from './port-evacuator.ts';
export { presenceOf } from './presence.ts';
export { QUOTA, quotaProblem } from './quota.ts';
export type { Quota } from './quota.ts';
export { REQUESTED_NETWORKS, resolveNetworks } from './resolve.ts';
export type { RequestedNetworks, ResolvedNic } from './resolve.ts';
export {
  FLOATING_ADDRESS,
  FLOATING_ADDRESSES_BY_PORT,
  FLOATING_ADDRESSES_BY_ROUTER,
  ROUTER,
  ROUTERS_BY_EXTERNAL_NETWORK,
  ROUTERS_BY_SUBNET,
  TRANSPORT_ZONE,
} from './router-model.ts';
export type { FloatingAddress, ExternalAddress, Router, TransportZone } from './router-model.ts';
export { stockOf } from './stock.ts';
export type { PoolCounters, Stock } from './stock.ts';
export { addressKey } from './subnet-stock.ts';
export { hostReaches, segmentOfPool } from './topology.ts';
export type { StoredPort } from './topology.ts';
export { TUNNEL_KEY, tunnelKeyOf } from './tunnel-key.ts';
export { undeliveredReason } from './unasked.ts';
export { PORT_REPRESENTATION } from './views.ts';
export {
  canHaveTunnels,
  HOSTS_BY_LEFT_ZONE,
  HOSTS_BY_TRANSPORT_ZONE,
  TUNNEL_ENDPOINTS_BY_ZONE,
} from './tunnel-ends.ts';
export type { TunnelEndpoint } from './tunnel-ends.ts';
export { BACK_END_CREDENTIALS, NETWORK_DRIVER, NETWORK_EVENTS, SIMULATED_NETWORK } from './service-keys.ts';
