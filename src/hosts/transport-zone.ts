// The transport zones of a host, the present ones and those that it left: peers in one of them may have a tunnel to it until they have
// converged on a view without it.
/** The zone of hosts that name none, while it is enabled. */
export const DEFAULT_TRANSPORT_ZONE = 'default';

/** Hosts rarely change zones. Of one that changes often the last zones are kept. */
export const LEFT_ZONES_MAX = 16;

interface Zoned {
  readonly transportZone?: string;
  readonly leftZones?: readonly string[];
}

export function transportZoneOf({ transportZone = DEFAULT_TRANSPORT_ZONE }: Zoned): string {
  return transportZone;
}

/** The recorded former zones of a host that changes zones now. */
export function recordLeftZones(before: Zoned, after: Zoned): { readonly leftZones?: string[] } {
  return toLeftZones([transportZoneOf(before), ...(before.leftZones ?? [])], after);
}

export function toLeftZones(left: readonly string[], present: Zoned): { readonly leftZones?: string[] } {
  const zones = new Set(left);
  zones.delete(transportZoneOf(present));
  return zones.size === 0 ? {} : { leftZones: [...zones].slice(0, LEFT_ZONES_MAX) };
}
