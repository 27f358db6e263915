export { canonicalAddresses } from './addresses.ts';
export { nicNeed, nicPort } from './attach.ts';
export { backEndOf, CAPABILITIES, NetworkUnavailable } from './back-end.ts';
export type * from './back-end.ts';
export { backEndSentences } from './back-end-sentences.ts';
export { bindPorts, bindWhatCanBe, boundElsewhere, endOfPort, madeElsewhere, unboundPort } from './bind.ts';
export type { BindAsk, BindFault } from './bind.ts';
export { CLAIM, claimId, CLAIMS_BY_HOST } from './claim.ts';
export type { Claim } from './claim.ts';
export {
  credentialsMissing,
  credentialsWereMissing,
  hasCredentials,
  missingCredentialsAlarm,
  parseCredentials,
} from './credentials.ts';
export type { Credentials } from './credentials.ts';
export { isPlugged, NETWORK_EVENT, networkEventsModel, plugEvent, recordNetworkEvents } from './event.ts';
export type { NetworkEvent, NetworkNews } from './event.ts';
export { createRouter } from './decide-router.ts';
export { createTransportZone, zoneOfHost } from './decide-transport-zone.ts';
export { givenAway } from './given-away.ts';
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
export type { NicNeed, PoolChoice, PoolKey } from './need.ts';
export { networkModel } from './network-model.ts';
export { canonicalIp, contains, parseCidr, parseIp } from './ip.ts';
export { orderPools } from './order-pools.ts';
export { wayOut } from './outside.ts';
export { portEvacuator } from './port-evacuator.ts';
export { presenceOf } from './presence.ts';
export { QUOTA, quotaRefusal } from './quota.ts';
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
export type { FloatingAddress, Outside, Router, TransportZone } from './router-model.ts';
export { stockOf } from './stock.ts';
export type { LiveStock, Stock } from './stock.ts';
export { addressKey } from './subnet-stock.ts';
export { hostReaches, segmentOfPool } from './topology.ts';
export type { StoredPort } from './topology.ts';
export { TUNNEL_KEY, tunnelKeyOf } from './tunnel-key.ts';
export { unasked } from './unasked.ts';
export { PORT_VIEW } from './views.ts';
export { canHaveTunnels, HOSTS_BY_LEFT_ZONE, HOSTS_BY_TRANSPORT_ZONE, TUNNEL_ENDS_BY_ZONE } from './tunnel-ends.ts';
export type { TunnelEnd } from './tunnel-ends.ts';
export { BACK_END_CREDENTIALS, NETWORK_DRIVER, NETWORK_EVENTS, SIMULATED_NETWORK } from './service-keys.ts';
