export { compile, compileInSteps, STATIC_ENVIRONMENT, EMPTY_COMPILE_RESULT } from './compile.ts';
export type { LocalEnvironment } from './compile.ts';
export { compareContents } from './compare.ts';
export {
  explainGap,
  explainGroups,
  explainInSteps,
  isOwnedBy,
  NEXT_HOPS_BY_NAME,
  TABLE_FILTER_VALUES,
} from './explain.ts';
export type { Gap } from './piece.ts';
export { subnetMatcher } from './in-subnet.ts';
export { diff } from './diff.ts';
export { interfaceOf, simulatedIdentity } from './keys.ts';
export { CONNECTION_PATTERN, formatConnection, parseConnection } from './tracked-connection.ts';
export { possibleTunnelPeers, peersPart } from './peers.ts';
export { servicesPart } from './services-part.ts';
export { readDataplaneView, domainOf } from './shown.ts';
export type { DataplaneView, ServiceView, SubnetView } from './shown.ts';
export { limitToVisibleHosts } from './site-scope.ts';
export { findStrayPorts } from './strays.ts';
export { computeRemovalImpact } from './touched.ts';
export { SwitchDown, SwitchRefused } from './switch.ts';
export type * from './switch.ts';
export { announcementFrames, nextAnnouncement } from './answers/announce.ts';
export type { AnnouncedAddress, AnnouncementState } from './answers/announce.ts';
export { answerDhcp } from './answers/dhcp.ts';
export { responderConfigOf } from './answers/duties.ts';
export type { ResponderConfig } from './answers/duties.ts';
export { answerNd, unsolicitedRouterAdvertisement } from './answers/neighbour.ts';
export { planQueries, learnBinding, updateNextHops } from './answers/resolve.ts';
export type { NextHopTable } from './answers/resolve.ts';
export { encodeAddressQuery, readBinding } from './answers/resolve-frames.ts';
export { annotateTrace } from './trace-text.ts';
