// The hosts that a host has tunnels with: those of its transport zone, all of them or those that it shares something with. Tunnels are
// mutual. A host that leaves keeps its tunnels until it is finalizing; one that is removed, quarantined or unknown has none.
import {
  eachInSteps,
  filterInSteps,
  finish,
  mapInSteps,
  sortInSteps,
  type AppliedChange,
  type FleetReader,
  type Steps,
} from '../../fleet/index.ts';
import { SERVICE, type Service } from '../../election/index.ts';
import { findHost, HOST, transportZoneOf, type Host, type StoredHost, type LargeViewPart } from '../../hosts/index.ts';
import {
  canHaveTunnels,
  HOSTS_BY_LEFT_ZONE,
  HOSTS_BY_TRANSPORT_ZONE,
  PORT,
  ROUTER,
  TRANSPORT_ZONE,
  TUNNEL_ENDPOINTS_BY_ZONE,
  zoneOfHost,
  type Router,
  type TransportZone,
  type TunnelEndpoint,
} from '../../network/index.ts';
import { presenceChanges } from './port-presence.ts';
import {
  hostsOfRouter,
  hostsOfService,
  relatedHosts,
  hostsSharingInSteps,
  relatedHostsIn,
  participantsOf,
} from './related-hosts.ts';
import type { PeerView } from './dataplane-view.ts';

export function meshOf(fleet: FleetReader, host: Host): TransportZone['mesh'] | undefined {
  const zone = zoneOfHost(fleet, host);
  return zone === undefined || zone === 'undefined-zone' ? undefined : zone.doc.mesh;
}

/** The hosts of its zone that a host should have tunnels with, whether or not it can have any itself; in the order of names. */
function* meshPeers(fleet: FleetReader, { id, doc }: StoredHost): Steps<StoredHost[]> {
  const mesh = meshOf(fleet, doc);
  if (mesh === undefined) return [];
  const found =
    mesh === 'full'
      ? [...fleet.find(TUNNEL_ENDPOINTS_BY_ZONE, transportZoneOf(doc))]
      : yield* hostsNamed(fleet, yield* sortInSteps([...(yield* hostsSharingInSteps(fleet, id))], compareNames));
  return yield* filterInSteps(
    found,
    (other) => other.id !== id && transportZoneOf(other.doc) === transportZoneOf(doc) && canHaveTunnels(other.doc),
  );
}

function compareNames(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function* hostsNamed(fleet: FleetReader, names: readonly string[]): Steps<StoredHost[]> {
  const found: StoredHost[] = [];
  yield* eachInSteps(names, (name) => {
    const host = findHost(fleet, name);
    if (host !== undefined) found.push(host);
  });
  return found;
}

function* buildPeersInSteps(fleet: FleetReader, id: string): Steps<readonly PeerView[] | undefined> {
  const host = findHost(fleet, id);
  if (host === undefined) return undefined;
  if (!canHaveTunnels(host.doc)) return [];
  return yield* mapInSteps(yield* meshPeers(fleet, host), (peer) => ({
    host: peer.id,
    tunnelAddress: (peer.doc as TunnelEndpoint).tunnelAddress,
  }));
}

export const peersPart: LargeViewPart = {
  name: 'peers',
  buildInSteps: buildPeersInSteps,
  affects: (change, fleet) => {
    switch (change.kind) {
      case HOST.name:
        return affectedByHost(fleet, change);
      case TRANSPORT_ZONE.name:
        return affectedByZone(fleet, change);
      case PORT.name:
        return affectedByPort(fleet, change);
      case ROUTER.name:
        return affectedByRouter(fleet, change);
      case SERVICE.name:
        return affectedByService(fleet, change);
      default:
        return [];
    }
  },
};

/** The hosts that would have a tunnel to a leaving host if it stayed. */
export function meshPeersOf(fleet: FleetReader, id: string): readonly string[] {
  const host = findHost(fleet, id);
  if (host?.doc.tunnelAddress === undefined) return [];
  return finish(meshPeers(fleet, host)).map((peer): string => peer.id);
}

/**
 * The hosts that may still have a tunnel to a leaving host: every host in its zone, whatever it should have now, and every host that ever
 * was in one of its zones. Tunnels change with ports, addresses, zones and the mesh setting, and a host that has not converged yet still
 * has the earlier ones.
 */
export function possibleTunnelPeers(fleet: FleetReader, id: string): readonly string[] {
  const host = findHost(fleet, id);
  if (host === undefined) return [];
  const found = new Set<string>();
  for (const zone of [transportZoneOf(host.doc), ...(host.doc.leftZones ?? [])]) {
    for (const other of fleet.find(HOSTS_BY_TRANSPORT_ZONE, zone)) found.add(other.id);
    for (const other of fleet.find(HOSTS_BY_LEFT_ZONE, zone)) found.add(other.id);
  }
  found.delete(id);
  return [...found];
}

function affectedByHost(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Host | undefined, after?.doc as Host | undefined];
  const id = (after ?? before)?.id ?? '';
  if (tunnelFingerprint(was) === tunnelFingerprint(is)) return [];
  const hosts = new Set([id]);
  for (const side of [was, is]) {
    if (side === undefined) continue;
    const mesh = meshOf(fleet, side);
    // What it shared with hosts of its previous zone may have been removed in the same commit.
    const hasLeft = side === was && is !== undefined && transportZoneOf(was) !== transportZoneOf(is);
    if (mesh === 'needed' && !hasLeft) for (const other of relatedHosts(fleet, id)) hosts.add(other);
    else if (mesh !== undefined) {
      for (const other of fleet.find(HOSTS_BY_TRANSPORT_ZONE, transportZoneOf(side))) hosts.add(other.id);
    }
  }
  return [...hosts];
}

/** The parts of a host that others see: unchanged for as long as nothing of it concerns them. */
function tunnelFingerprint(host: Host | undefined): string {
  return host !== undefined && canHaveTunnels(host) ? `${transportZoneOf(host)}|${host.tunnelAddress}` : '';
}

function affectedByZone(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as TransportZone | undefined, after?.doc as TransportZone | undefined];
  if (was?.mesh === is?.mesh) return [];
  return [...fleet.find(HOSTS_BY_TRANSPORT_ZONE, (after ?? before)?.id ?? '')].map((host) => host.id);
}

function affectedByPort(fleet: FleetReader, change: AppliedChange): readonly string[] {
  const hosts = new Set<string>();
  for (const { host, scope } of presenceChanges(fleet, change)) {
    const doc = findHost(fleet, host)?.doc;
    if (doc === undefined || meshOf(fleet, doc) !== 'needed') continue;
    hosts.add(host);
    for (const one of relatedHostsIn(fleet, scope)) hosts.add(one);
  }
  return [...hosts];
}

function affectedByRouter(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Router | undefined, after?.doc as Router | undefined];
  const [old, now] = [was?.subnets ?? [], is?.subnets ?? []];
  if (old.length === now.length && old.every((subnet) => now.includes(subnet))) return [];
  return [...hostsOfRouter(fleet, (after ?? before)?.id ?? '', [...old, ...now])];
}

function affectedByService(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Service | undefined, after?.doc as Service | undefined];
  const [old, now] = [was, is].map((side) => new Set(side === undefined ? [] : participantsOf(side)));
  const service = is ?? was;
  if (service === undefined || old === undefined || now === undefined) return [];
  if (old.size === now.size && [...old].every((host) => now.has(host))) return [];
  return [...new Set([...hostsOfService(fleet, service), ...old])];
}
