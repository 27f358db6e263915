export type { GivenAddress } from './addresses.ts';
export { nicNeed, nicPort } from './attach.ts';
export type { NicOf } from './attach.ts';
export { backEndOf, CAPABILITIES, NetworkUnavailable } from './back-end.ts';
export type * from './back-end.ts';
export { backEndSentences } from './back-end-sentences.ts';
export { bindPorts, boundElsewhere, endOfPort, madeElsewhere, unboundPort } from './bind.ts';
export type { BindAnswer, BindAsk, BindFault, Bound, PortEnd } from './bind.ts';
export { CLAIM, claimId, CLAIMS_BY_HOST } from './claim.ts';
export type { Claim, ClaimId } from './claim.ts';
export {
  credentialsMissing,
  credentialsWereMissing,
  hasCredentials,
  lacksCredentials,
  missingCredentialsAlarm,
  parseCredentials,
} from './credentials.ts';
export type { Credential, Credentials } from './credentials.ts';
export { isPlugged, NETWORK_EVENT, networkEventsModel, recordNetworkEvents } from './event.ts';
export type { NetworkEvent, NetworkNews } from './event.ts';
export { givenAway } from './given-away.ts';
export type { GivenAway } from './given-away.ts';
export type { IpVersion } from './ip.ts';
export {
  DEFAULT_PROJECT,
  NETWORK,
  PORT,
  PORTS_BY_INSTANCE,
  PORTS_BY_NETWORK,
  PROJECT,
  SEGMENT,
  SUBNET,
  SUBNETS_BY_NETWORK,
} from './model.ts';
export type { BackEndName, Network, NetworkId, Port, PortId, Segment, Subnet } from './model.ts';
export { bandwidthClass } from './need.ts';
export type { NicNeed, PoolChoice, PoolKey } from './need.ts';
export { networkModel } from './network-model.ts';
export { orderPools } from './order-pools.ts';
export { portQuotaRefusal, QUOTA, quotaRefusal, usageOf } from './quota.ts';
export type { Quota, QuotaUsage } from './quota.ts';
export { portDelete, portSentences } from './port-delete.ts';
export { isRefusal } from './refusal.ts';
export { REQUESTED_NETWORKS, resolveNetworks } from './resolve.ts';
export type { NetworkAsk, RequestedNetworks, ResolvedNetworks, ResolvedNic } from './resolve.ts';
export { STOCK, stockOf } from './stock.ts';
export type { LiveStock, Stock, StockFigures } from './stock.ts';
export { addressKey } from './subnet-stock.ts';
export { hostReaches, segmentOfPool, topologyOf } from './topology.ts';
export type { StoredNetwork, StoredPort, StoredSegment, StoredSubnet } from './topology.ts';
export { PORT_VIEW } from './views.ts';
