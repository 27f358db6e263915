// The data plane's contributions to other modules: view parts, tunnel peers and the impact of a removal.
import { contribute, type Module } from '../composition/index.ts';
import { REMOVAL_IMPACT, TUNNEL_PEERS, VIEW_PARTS } from '../hosts/index.ts';
import { bfdPart } from './view/bfd-part.ts';
import { networksPart } from './view/networks-part.ts';
import { possibleTunnelPeers, peersPart } from './view/peers-part.ts';
import { servicesPart } from './view/services-part.ts';
import { computeRemovalImpact } from './explain/removal-impact.ts';

export const dataplaneModule: Module = {
  name: 'dataplane',
  contributions: [
    contribute(VIEW_PARTS, peersPart, networksPart, servicesPart, bfdPart),
    contribute(TUNNEL_PEERS, possibleTunnelPeers),
    contribute(REMOVAL_IMPACT, computeRemovalImpact),
  ],
};
