export { canonicalizeAddresses } from './addresses/allocation.ts';
export { nicRequirementsOf, attachNicPort } from './ports/attach.ts';
export { capabilitiesOf, CAPABILITIES, NetworkUnavailable } from './back-ends/back-end.ts';
export type * from './back-ends/back-end.ts';
export { backEndSentences } from './back-ends/sentences.ts';
export {
  bindPorts,
  bindAllPossible,
  recordHeldAddresses,
  recordPortBound,
  releasePort,
  recordPortCreated,
  unbindPort,
} from './ports/bind.ts';
export type { BindRequest, BindFault } from './ports/bind.ts';
export { bindPortsToNode, composeWiredPorts, wiredPlacesOf, wiringProblem } from './ports/bind-to-node.ts';
export { CLAIM, claimId, CLAIMS_BY_HOST } from './claim.ts';
export type { Claim } from './claim.ts';
export {
  isMissingCredentials,
  hasMissingCredentialsAlarm,
  hasCredentials,
  updateCredentialsAlarm,
  parseCredentials,
  parseSecretDocument,
} from './back-ends/credentials.ts';
export type { Credentials } from './back-ends/credentials.ts';
export { isPlugged, NETWORK_EVENT, networkEventsModel, latestPlugEvent, recordNetworkEvents } from './ports/event.ts';
export type { NetworkEvent, NetworkEventReport } from './ports/event.ts';
export { createRouter } from './routers/decide.ts';
export { createTransportZone, zoneOfHost } from './tunnels/decide-transport-zone.ts';
export { revokeReassignedAddresses } from './addresses/reassigned-addresses.ts';
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
export { bandwidthClass, pciClass } from './ports/nic-requirements.ts';
export type { NicRequirements, PoolChoice, PoolKey } from './ports/nic-requirements.ts';
export { networkModel } from './fleet-model.ts';
export { contains, parseCidr, parseIp } from './addresses/ip.ts';
export { composeOrderPools } from './back-ends/order-pools.ts';
export { externalReachPredicate } from './routers/external-address.ts';
export { portEvacuator } from './ports/evacuator.ts';
export { presenceOf } from './ports/presence.ts';
export { QUOTA, quotaProblem } from './quotas/quota.ts';
export type { Quota } from './quotas/quota.ts';
export { REQUESTED_NETWORKS, resolveNetworks } from './networks/resolve.ts';
export type { RequestedNetworks, ResolvedNic } from './networks/resolve.ts';
export {
  FLOATING_ADDRESS,
  FLOATING_ADDRESSES_BY_PORT,
  FLOATING_ADDRESSES_BY_ROUTER,
  ROUTER,
  ROUTERS_BY_EXTERNAL_NETWORK,
  ROUTERS_BY_SUBNET,
} from './routers/model.ts';
export { TRANSPORT_ZONE } from './tunnels/transport-zone.ts';
export type { FloatingAddress, ExternalAddress, Router } from './routers/model.ts';
export type { TransportZone } from './tunnels/transport-zone.ts';
export { stockOf } from './addresses/stock.ts';
export type { PoolCounters, Stock } from './addresses/stock.ts';
export { addressKey } from './addresses/subnet-stock.ts';
export { hostReaches, segmentOfPool } from './networks/topology.ts';
export type { StoredPort } from './networks/topology.ts';
export { TUNNEL_KEY, tunnelKeyOf } from './tunnels/keys.ts';
export { undeliveredReason } from './back-ends/undelivered-reason.ts';
export { PORT_REPRESENTATION } from './representations.ts';
export {
  canHaveTunnels,
  HOSTS_BY_LEFT_ZONE,
  HOSTS_BY_TRANSPORT_ZONE,
  TUNNEL_ENDPOINTS_BY_ZONE,
} from './tunnels/endpoints.ts';
export type { TunnelEndpoint } from './tunnels/endpoints.ts';
export { BACK_END_CREDENTIALS, NETWORK_DRIVER, NETWORK_EVENTS, SIMULATED_NETWORK } from './service-keys.ts';
