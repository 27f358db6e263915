// Which tunnels, flows and groups on other hosts are removed or redirected when hosts leave. In a full mesh they are counted by an index,
// and only as many are listed as the answer names. Read only.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import {
  bfdSettingsOf,
  SERVICES_BY_STANDBY,
  SERVICES_TOUCHING_HOST,
  bfdObserverHostsOf,
  type StoredService,
} from '../../election/index.ts';
import { findHost, type StoredHost, type RemovalImpact, type RemovalImpactComputation } from '../../hosts/index.ts';
import { canHaveTunnels, ROUTER, type TunnelEndpoint } from '../../network/index.ts';
import { compilePeer } from '../compile/layer2.ts';
import { ZonesAfterRemoval, NO_TUNNEL_ENDS, type TunnelEnds } from './zone-after-removal.ts';
import { hostsOfService } from '../view/related-hosts.ts';

export const computeRemovalImpact: RemovalImpactComputation = function* touchedSteps(fleet, leavers, limit) {
  const zones = new ZonesAfterRemoval(fleet, new Set(leavers));
  const all: RemovalImpact[] = [];
  let left = limit;
  for (const id of leavers) {
    const touched = impactOf({ fleet, zones }, id, left);
    left -= touched.byPeer.length;
    all.push(touched);
    yield;
  }
  return all;
};

interface RemovalContext {
  readonly fleet: FleetReader;
  readonly zones: ZonesAfterRemoval;
}

const NOTHING = { tunnels: 0, flows: 0, groups: 0, services: 0, byPeer: [] };

function impactOf(all: RemovalContext, id: string, limit: number): RemovalImpact {
  const host = findHost(all.fleet, id);
  if (host === undefined || !canHaveTunnels(host.doc)) return { host: id, ...NOTHING };
  const { count, first } = listRemainingPeers(all, host, limit);
  const turned = collectRedirects(all, host);
  const flows = tunnelFlowCount(host.id, host.doc);
  const names = [...turned.byPeer.keys()].sort();
  const others = first.filter((peer) => !turned.byPeer.has(peer));
  return {
    host: id,
    tunnels: count,
    flows: count * flows + turned.flows,
    groups: turned.groups,
    services: turned.services.size,
    byPeer: [...names, ...others].slice(0, limit).map((peer) => {
      const its = turned.byPeer.get(peer);
      return { host: peer, flows: flows + (its?.flows ?? 0), services: its?.services ?? [] };
    }),
  };
}

/** What every peer has in order to reach it. */
function tunnelFlowCount(host: string, { tunnelAddress }: TunnelEndpoint): number {
  return compilePeer({ host, tunnelAddress }).flows.length;
}

/** The hosts that stay and have a tunnel to it: how many, and the first of them. */
function listRemainingPeers({ zones }: RemovalContext, host: StoredHost, limit: number): TunnelEnds {
  const zone = zones.zoneOf(host.doc);
  switch (zone?.mesh) {
    case undefined:
      return NO_TUNNEL_ENDS;
    case 'full':
      return { count: zone.count, first: zone.firstRemaining(limit) };
    case 'needed':
      return zone.relatedTo(host.id, limit);
  }
}

/** The number on one peer. */
interface PeerRedirects {
  /** Beside the flows of its tunnel. */
  flows: number;
  readonly services: string[];
}

/** The flows and groups that send to a host for a service and will send elsewhere. */
class Redirects {
  readonly byPeer = new Map<string, PeerRedirects>();
  readonly services = new Set<string>();
  groups = 0;
  flows = 0;

  group(peer: string, service: string): void {
    this.groups += 1;
    this.services.add(service);
    this.#redirectsAt(peer).services.push(service);
  }

  flow(peer: string): void {
    this.flows += 1;
    this.#redirectsAt(peer).flows += 1;
  }

  #redirectsAt(peer: string): PeerRedirects {
    let there = this.byPeer.get(peer);
    if (there === undefined) this.byPeer.set(peer, (there = { flows: 0, services: [] }));
    return there;
  }
}

/** The hosts that send to it for a service that it is designated or standby for. */
function collectRedirects({ fleet, zones }: RemovalContext, { id, doc }: StoredHost): Redirects {
  const zone = zones.zoneOf(doc);
  const turned = new Redirects();
  for (const index of [SERVICES_TOUCHING_HOST, SERVICES_BY_STANDBY]) {
    for (const service of fleet.find(index, id)) {
      const { designated, standby } = service.doc;
      if (![designated?.host, standby].includes(id) || !hasRedirects(fleet, service)) continue;
      const [peers, other] =
        designated?.host === id
          ? [hostsOfService(fleet, service.doc), standby]
          : [bfdWatchersOf(fleet, service), designated?.host];
      for (const peer of peers) if (zone?.isRemaining(peer) === true) turned.group(peer, service.id);
      // Replies of connections that it does not know.
      if (service.doc.type === 'nat' && other !== undefined && zone?.isRemaining(other) === true) turned.flow(other);
    }
  }
  return turned;
}

function bfdWatchersOf(fleet: FleetReader, { doc }: StoredService): readonly string[] {
  return bfdSettingsOf(fleet).on ? bfdObserverHostsOf(fleet, doc) : [];
}

/** Only external hosts use the route to a subnet; other hosts have no flow that sends there. */
function hasRedirects(fleet: FleetReader, { doc: { type, subject } }: StoredService): boolean {
  switch (type) {
    case 'dhcp':
      return true;
    case 'nat':
      return fleet.get(ROUTER, idOf(ROUTER, subject))?.doc.nat !== undefined;
    case 'subnet-route':
      return false;
  }
}
