export { compile, WIPED } from './compile.ts';
export { diff } from './diff.ts';
export { simulatedIdentity } from './keys.ts';
export { mayHaveTunnelsTo, peersOf, peersPart } from './peers.ts';
export { servicesPart } from './services-part.ts';
export { touchedBy } from './touched.ts';
export { dataplaneView } from './shown.ts';
export { SwitchDown, SwitchRefused } from './switch.ts';
export type * from './switch.ts';
