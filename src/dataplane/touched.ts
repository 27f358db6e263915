// What of tunnels, flows and groups on other hosts goes or is turned elsewhere when hosts leave. Where every host has a tunnel with
// every other, they are counted by an index and only as many are looked at as are to be named.
import { idOf, type FleetReader } from '../fleet/index.ts';
import { SERVICES_TOUCHING_HOST, type StoredService } from '../election/index.ts';
import { findHost, type StoredHost, type Touched, type TouchedBy } from '../hosts/index.ts';
import { canHaveTunnels, ROUTER, type TunnelEnd } from '../network/index.ts';
import { peerPiece } from './compile-basics.ts';
import { LeavingZones, NOBODY, type Ends } from './leaving-zone.ts';
import { hostsOfService } from './relations.ts';

export const touchedBy: TouchedBy = (fleet, leavers, limit) => {
  const zones = new LeavingZones(fleet, new Set(leavers));
  let left = limit;
  return leavers.map((id) => {
    const touched = touchedOf({ fleet, zones }, id, left);
    left -= touched.byPeer.length;
    return touched;
  });
};

interface Leaving {
  readonly fleet: FleetReader;
  readonly zones: LeavingZones;
}

const NOTHING = { tunnels: 0, flows: 0, groups: 0, services: 0, byPeer: [] };

function touchedOf(all: Leaving, id: string, limit: number): Touched {
  const host = findHost(all.fleet, id);
  if (host === undefined || !canHaveTunnels(host.doc)) return { host: id, ...NOTHING };
  const { count, first } = peersOf(all, host, limit);
  const turned = turnedBy(all, host);
  const flows = flowsTo(host.id, host.doc);
  const names = [...turned.byPeer.keys()].sort();
  const others = first.filter((peer) => !turned.byPeer.has(peer));
  return {
    host: id,
    tunnels: count,
    flows: count * flows,
    groups: turned.groups,
    services: turned.services,
    byPeer: [...names, ...others]
      .slice(0, limit)
      .map((peer) => ({ host: peer, flows, services: turned.byPeer.get(peer) ?? [] })),
  };
}

/** What every peer has to reach it. */
function flowsTo(host: string, { tunnelAddress }: TunnelEnd): number {
  return peerPiece({ host, tunnelAddress }).flows.length;
}

/** Those that stay and have a tunnel to it: how many, and the first of them. */
function peersOf({ zones }: Leaving, host: StoredHost, limit: number): Ends {
  const zone = zones.of(host.doc);
  switch (zone?.mesh) {
    case undefined:
      return NOBODY;
    case 'full':
      return { count: zone.count, first: zone.first(limit) };
    case 'needed':
      return zone.sharingWith(host.id, limit);
  }
}

interface Turned {
  readonly groups: number;
  readonly services: number;
  readonly byPeer: ReadonlyMap<string, string[]>;
}

/** Whoever sends to it for a service that it does. */
function turnedBy({ fleet, zones }: Leaving, { id, doc }: StoredHost): Turned {
  const zone = zones.of(doc);
  const byPeer = new Map<string, string[]>();
  let [groups, services] = [0, 0];
  for (const service of fleet.find(SERVICES_TOUCHING_HOST, id)) {
    if (service.doc.designated?.host !== id || !isSentFor(fleet, service)) continue;
    const before = groups;
    for (const peer of hostsOfService(fleet, service.doc)) {
      if (zone?.stays(peer) !== true) continue;
      const own = byPeer.get(peer);
      if (own === undefined) byPeer.set(peer, [service.id]);
      else own.push(service.id);
      groups += 1;
    }
    if (groups > before) services += 1;
  }
  return { groups, services, byPeer };
}

/** Of a route to a subnet only those outside are told; the others have nothing that sends there. */
function isSentFor(fleet: FleetReader, { doc: { type, subject } }: StoredService): boolean {
  switch (type) {
    case 'dhcp':
      return true;
    case 'nat':
      return fleet.get(ROUTER, idOf(ROUTER, subject))?.doc.nat !== undefined;
    case 'subnet-route':
      return false;
  }
}
