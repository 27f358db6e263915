// Hosts by transport zone: all of a zone, those that can have tunnels, and those that were in it before. Kept as indexes, so that counting needs no
// scan.
import type { Index } from '../../fleet/index.ts';
import { HOST, transportZoneOf, type Host } from '../../hosts/index.ts';

export type TunnelEndpoint = Host & { readonly tunnelAddress: string };

/** What a host needs to have tunnels, its zone apart. A joining host has them once its switch was reported. */
export function canHaveTunnels(host: Host): host is TunnelEndpoint {
  const { state, tunnelAddress, quarantined } = host;
  if (tunnelAddress === undefined || quarantined !== undefined) return false;
  if (state === 'joining') return host.switch?.datapathId !== undefined;
  return state !== 'removed' && state !== 'finalizing';
}

/** The hosts of a zone, defined or not; those that name none are in the default one. A removed host is in none. */
export const HOSTS_BY_TRANSPORT_ZONE: Index<'host', Host> = {
  name: 'hosts-by-transport-zone',
  kind: HOST,
  keysOf: (doc) => (doc.state === 'removed' ? [] : [transportZoneOf(doc)]),
};

/** The hosts of a zone that can have tunnels. */
export const TUNNEL_ENDPOINTS_BY_ZONE: Index<'host', Host> = {
  name: 'tunnel-endpoints-by-zone',
  kind: HOST,
  keysOf: (doc) => (canHaveTunnels(doc) ? [transportZoneOf(doc)] : []),
};

/** The hosts that were in a zone before. */
export const HOSTS_BY_LEFT_ZONE: Index<'host', Host> = {
  name: 'hosts-by-left-zone',
  kind: HOST,
  keysOf: ({ leftZones = [] }) => leftZones,
};
