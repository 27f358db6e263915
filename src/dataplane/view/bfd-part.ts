// The view part for BFD: the interval and the peers of a host. Both ends of a session get each other in the same commit. Nothing here
// depends on the caller or the time.
import { isTrusted } from './host-trust.ts';
import { SETTING, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import {
  ELECTION,
  bfdPeers,
  bfdSettingsOf,
  SERVICE,
  SERVICES_BY_SUBJECT,
  bfdObservedHostsOf,
  bfdObserverHostsOf,
  type Service,
} from '../../election/index.ts';
import { findHost, HOST, type SmallViewPart } from '../../hosts/index.ts';
import { ROUTER, type Router } from '../../network/index.ts';
import { presenceChanges } from './port-presence.ts';
import { hostsOfRouter, servicesOfSubnets } from './related-hosts.ts';
import type { BfdView } from './dataplane-view.ts';

export const bfdPart: SmallViewPart = {
  name: 'bfd',
  build: (fleet, id): BfdView | undefined => {
    const host = findHost(fleet, id)?.doc;
    if (host === undefined) return undefined;
    const { everyMs: intervalMs } = bfdSettingsOf(fleet);
    return { intervalMs, peers: isTrusted(host) ? bfdPeers(fleet, id) : [] };
  },
  affects: (change, fleet) => {
    switch (change.kind) {
      case SERVICE.name:
        return affectedByService(fleet, change);
      case ROUTER.name:
        return affectedByRouter(fleet, change);
      case HOST.name:
        return isTrusted(change.before?.doc) === isTrusted(change.after?.doc)
          ? []
          : [(change.after ?? change.before)?.id ?? ''];
      case SETTING.name:
        return (change.after ?? change.before)?.id === ELECTION.name ? [...fleet.all(HOST)].map(({ id }) => id) : [];
      default:
        return affectedByPort(fleet, change);
    }
  },
};

/** A host that joins or leaves the first ones by name moves another one out or in. */
const WATCHERS_MARGIN = 8;

function bfdHostsOf(fleet: FleetReader, doc: Service): string[] {
  return [...bfdObservedHostsOf(doc), ...bfdObserverHostsOf(fleet, doc, WATCHERS_MARGIN)];
}

function affectedByService(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Service | undefined, after?.doc as Service | undefined];
  const [old, now] = [was, is].map((side) => (side === undefined ? '' : bfdObservedHostsOf(side).join()));
  if (old === now) return [];
  return [...new Set([was, is].flatMap((side) => (side === undefined ? [] : bfdHostsOf(fleet, side))))];
}

function affectedByRouter(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Router | undefined, after?.doc as Router | undefined];
  if (was?.subnets.join() === is?.subnets.join()) return [];
  const id = (after ?? before)?.id ?? '';
  const hosts = hostsOfRouter(fleet, id, [...(was?.subnets ?? []), ...(is?.subnets ?? [])]);
  for (const { doc } of fleet.find(SERVICES_BY_SUBJECT, id))
    for (const host of bfdObservedHostsOf(doc)) hosts.add(host);
  return [...hosts];
}

function affectedByPort(fleet: FleetReader, change: AppliedChange): readonly string[] {
  const hosts = new Set<string>();
  for (const { host, scope } of presenceChanges(fleet, change)) {
    hosts.add(host);
    for (const { doc } of servicesOfSubnets(fleet, scope.subnets).values()) {
      for (const one of bfdHostsOf(fleet, doc)) hosts.add(one);
    }
  }
  return [...hosts];
}
