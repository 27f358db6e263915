import { contribute, type Module } from '../composition/index.ts';
import { TOUCHED_BY, TUNNEL_PEERS, VIEW_PARTS } from '../hosts/index.ts';
import { heartbeatsPart } from './heartbeats-part.ts';
import { networksPart } from './networks-part.ts';
import { mayHaveTunnelsTo, peersPart } from './peers.ts';
import { servicesPart } from './services-part.ts';
import { touchedBy } from './touched.ts';

export const dataplaneModule: Module = {
  name: 'dataplane',
  contributions: [
    contribute(VIEW_PARTS, peersPart, networksPart, servicesPart, heartbeatsPart),
    contribute(TUNNEL_PEERS, mayHaveTunnelsTo),
    contribute(TOUCHED_BY, touchedBy),
  ],
};
