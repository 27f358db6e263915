// What other modules may import of the data plane: pure functions and types. Drivers and switches are in runtime.ts.
export { compile, compileInSteps, STATIC_ENVIRONMENT, EMPTY_COMPILE_RESULT } from './compile/compile.ts';
export type { LocalEnvironment } from './compile/compile.ts';
export { compareContents } from './explain/compare.ts';
export {
  explainGap,
  explainGroups,
  explainInSteps,
  isOwnedBy,
  NEXT_HOPS_BY_NAME,
  TABLE_FILTER_VALUES,
} from './explain/explain.ts';
export type { Gap } from './compile/flow-fragment.ts';
export { subnetMatcher } from './view/subnet-matcher.ts';
export { diff } from './switch/diff.ts';
export { interfaceOf, simulatedIdentity } from './switch/derived-ids.ts';
export { CONNECTION_PATTERN, formatConnection, parseConnection } from './switch/tracked-connection.ts';
export { possibleTunnelPeers, peersPart } from './view/peers-part.ts';
export { bfdPart } from './view/bfd-part.ts';
export { servicesPart } from './view/services-part.ts';
export { domainOf } from './view/dataplane-view.ts';
export { readDataplaneView } from './view/read-view.ts';
export { hasFormerWords, partsToFormer, phaseToFormer, readPhase } from './view/wire-words.ts';
export type { DataplaneView, ServiceView, SubnetView } from './view/dataplane-view.ts';
export { limitToVisibleHosts } from './view/site-scope.ts';
export { findStrayPorts } from './switch/stray-ports.ts';
export { computeRemovalImpact } from './explain/removal-impact.ts';
export { SwitchDown, SwitchRefused } from './switch/switch.ts';
export type * from './switch/switch.ts';
export { announcementFrames, nextAnnouncement } from './responder/announcement.ts';
export type { AnnouncedAddress, AnnouncementState } from './responder/announcement.ts';
export { answerDhcp } from './responder/dhcp-server.ts';
export { responderConfigOf } from './responder/responder-config.ts';
export type { ResponderConfig } from './responder/responder-config.ts';
export { answerNd, unsolicitedRouterAdvertisement } from './responder/neighbour-discovery.ts';
export { planQueries, learnBinding, updateNextHops } from './responder/next-hop-resolution.ts';
export type { NextHopTable } from './responder/next-hop-resolution.ts';
export { encodeAddressQuery, readBinding } from './responder/next-hop-frames.ts';
export { annotateTrace } from './explain/trace.ts';
