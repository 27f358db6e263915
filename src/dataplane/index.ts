export { compile, NOBODY_AROUND, WIPED } from './compile.ts';
export type { Surroundings } from './compile.ts';
export { compareWith } from './compare.ts';
export {
  explainFlows,
  explainGaps,
  explainGroups,
  isOwner,
  matchesFilter,
  NEXT_HOPS_BY_NAME,
  TABLE_WORDS,
} from './explain.ts';
export { within } from './in-subnet.ts';
export { diff } from './diff.ts';
export { interfaceOf, simulatedIdentity } from './keys.ts';
export { CONNECTION_PATTERN, connectionText, readConnection } from './tracked-connection.ts';
export { mayHaveTunnelsTo, peersPart } from './peers.ts';
export { servicesPart } from './services-part.ts';
export { dataplaneView, domainOf } from './shown.ts';
export type { DataplaneView, ShownService, ShownSubnet } from './shown.ts';
export { limitToVisibleHosts } from './site-scope.ts';
export { strayPorts } from './strays.ts';
export { touchedBy } from './touched.ts';
export { SwitchDown, SwitchRefused } from './switch.ts';
export type * from './switch.ts';
export { announcementFrames, nextAnnouncement } from './answers/announce.ts';
export type { Announced, Announcing } from './answers/announce.ts';
export { answerDhcp } from './answers/dhcp.ts';
export { dutiesOf } from './answers/duties.ts';
export type { Duties } from './answers/duties.ts';
export { answerNeighbour, routerAdvertisement } from './answers/neighbour.ts';
export { askNow, learn, resolvingOf } from './answers/resolve.ts';
export type { Resolving } from './answers/resolve.ts';
export { questionFrame, saidIn } from './answers/resolve-frames.ts';
export { annotate } from './trace-text.ts';
