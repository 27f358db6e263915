import { contribute, type Module } from '../composition/index.ts';
import { REMOVAL_IMPACT, TUNNEL_PEERS, VIEW_PARTS } from '../hosts/index.ts';
import { bfdPart } from './heartbeats-part.ts';
import { networksPart } from './networks-part.ts';
import { possibleTunnelPeers, peersPart } from './peers.ts';
import { servicesPart } from './services-part.ts';
import { computeRemovalImpact } from './touched.ts';

export const dataplaneModule: Module = {
  name: 'dataplane',
  contributions: [
    contribute(VIEW_PARTS, peersPart, networksPart, servicesPart, bfdPart),
    contribute(TUNNEL_PEERS, possibleTunnelPeers),
    contribute(REMOVAL_IMPACT, computeRemovalImpact),
  ],
};
