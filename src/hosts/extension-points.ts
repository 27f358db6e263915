// What other modules add to hosts.
import { extensionPoint, type Composition } from '../composition/index.ts';
import type { FleetReader } from '../fleet/index.ts';
import type { Evacuator } from './evacuator.ts';
import type { UnreadyService } from './routes.ts';
import type { TunnelPeersLookup } from './scale-in/end.ts';
import type { Rebalance } from './join/scale-out.ts';
import type { RemovalImpactComputation } from './preview/removal-impact.ts';
import type { ViewPart } from './view.ts';

/** How each kind of tenant gets off a host. */
export const EVACUATORS = extensionPoint<Evacuator>('evacuators');
/** What hosts' agents are shown. */
export const VIEW_PARTS = extensionPoint<ViewPart>('view-parts');
/** How services are spread anew when hosts have come in. */
export const REBALANCE = extensionPoint<Rebalance>('rebalance');
/** The hosts that may have tunnels to one that leaves. */
export const TUNNEL_PEERS = extensionPoint<TunnelPeersLookup>('tunnel-peers');
/** What a preview says that leaving hosts touch. */
export const REMOVAL_IMPACT = extensionPoint<RemovalImpactComputation>('touched-by');
/** Services that a host was chosen for and cannot prepare. */
export const UNREADY_SERVICES =
  extensionPoint<(fleet: FleetReader, host: string) => readonly UnreadyService[]>('unready-services');

/** In the order of their names, whichever modules bring them. */
export function evacuatorsOf(composition: Composition): readonly Evacuator[] {
  return [...composition.all(EVACUATORS)].sort((a, b) => (a.name < b.name ? -1 : 1));
}
