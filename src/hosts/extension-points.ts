// Extension points of hosts: what other modules contribute. Nothing here may name a contributing module.
import { extensionPoint, type Composition } from '../composition/index.ts';
import type { FleetReader } from '../fleet/index.ts';
import type { Evacuator } from './evacuator.ts';
import type { ServiceNotReady } from './routes.ts';
import type { TunnelPeersLookup } from './scale-in/end.ts';
import type { Rebalance } from './join/scale-out.ts';
import type { RemovalImpactComputation } from './preview/removal-impact.ts';
import type { ViewPart } from './view.ts';

/** How each kind of tenant leaves a host. One that modules add to is made from what they contribute. */
export const EVACUATORS = extensionPoint<Evacuator | ((composition: Composition) => Evacuator)>('evacuators');
/** The parts of agents' views. */
export const VIEW_PARTS = extensionPoint<ViewPart>('view-parts');
/** How services are rebalanced after hosts have joined. */
export const REBALANCE = extensionPoint<Rebalance>('rebalance');
/** The peers of a leaving host: those that may have tunnels to it. */
export const TUNNEL_PEERS = extensionPoint<TunnelPeersLookup>('tunnel-peers');
/** The impact of leaving hosts on others, for previews. */
export const REMOVAL_IMPACT = extensionPoint<RemovalImpactComputation>('removal-impact');
/** Services that a host was designated for and cannot prepare. */
export const UNREADY_SERVICES =
  extensionPoint<(fleet: FleetReader, host: string) => readonly ServiceNotReady[]>('unready-services');

/** Sorted by name, whichever modules contribute them. */
export function evacuatorsOf(composition: Composition): readonly Evacuator[] {
  const evacuators = composition.all(EVACUATORS).map((one) => (typeof one === 'function' ? one(composition) : one));
  return evacuators.sort((a, b) => (a.name < b.name ? -1 : 1));
}
