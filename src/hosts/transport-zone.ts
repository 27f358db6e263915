// The transport zone that a host is in, and those that it was in before: whoever was in one of them with it may have a tunnel
// to it for as long as they have not heard that it went elsewhere.
/** The zone of hosts that name none, while it is enabled. */
export const DEFAULT_TRANSPORT_ZONE = 'default';

/** Hosts hardly ever go to another zone. Of one that goes round and round the last ones count. */
export const LEFT_ZONES_MAX = 16;

interface Zoned {
  readonly transportZone?: string;
  readonly leftZones?: readonly string[];
}

export function transportZoneOf({ transportZone = DEFAULT_TRANSPORT_ZONE }: Zoned): string {
  return transportZone;
}

/** What is kept of the zones that a host was in, when it is in another one from now on. */
export function recordLeftZones(before: Zoned, after: Zoned): { readonly leftZones?: string[] } {
  const now = transportZoneOf(after);
  const zones = new Set([transportZoneOf(before), ...(before.leftZones ?? [])]);
  zones.delete(now);
  return zones.size === 0 ? {} : { leftZones: [...zones].slice(0, LEFT_ZONES_MAX) };
}
