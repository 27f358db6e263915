// Who listens for whom on the data path: the hosts that send to a service listen for the one that does it and for the one that would
// take it over, and both of those for them. Derived from services alone, so that both ends come to the same.
import { idOf, type FleetReader } from '../fleet/index.ts';
import { presenceOf } from '../network/index.ts';
import { SERVICE, SERVICES_BY_STANDBY, SERVICES_TOUCHING_HOST, type Service, type StoredService } from './model.ts';
import { bfdSettingsOf } from './settings.ts';
import { hasStandby } from './standby.ts';
import { firstHostsWithPresence, servicesOfSubnet } from './desired-services.ts';

/** A majority of so many is as sure as one of more, and each costs the designated host a port. */
export const BFD_OBSERVERS_MAX = 64;

/**
 * The hosts that are listened for: who does it, who would take it over, and both ends of a hand-over. Whoever still sends to the old
 * one must not come to think that it is lost.
 */
export function bfdObservedHostsOf({ type, designated, standby, handover }: Service): string[] {
  if (!hasStandby(type) || designated === undefined) return [];
  const hosts = [designated.host, standby, handover?.from, handover?.to];
  return [...new Set(hosts.filter((host) => host !== undefined))];
}

/** The first of those with presence by name; `more` lets see who would be next. */
export function bfdObserverHostsOf(fleet: FleetReader, doc: Service, more = 0): string[] {
  const watched = bfdObservedHostsOf(doc);
  return watched.length === 0
    ? []
    : firstHostsWithPresence(fleet, doc, { count: BFD_OBSERVERS_MAX + more, except: watched });
}

/** The hosts with which a host exchanges heartbeats, in the order of names. Whoever is in one's list has one in his. */
export function bfdPeers(fleet: FleetReader, host: string): string[] {
  if (!bfdSettingsOf(fleet).on) return [];
  const peers = new Set<string>();
  for (const { doc } of servicesInvolving(fleet, host).values()) {
    const watched = bfdObservedHostsOf(doc);
    if (watched.length === 0) continue;
    const watchers = bfdObserverHostsOf(fleet, doc);
    const isWatched = watched.includes(host);
    if (isWatched || watchers.includes(host)) for (const other of watched) peers.add(other);
    if (isWatched) for (const other of watchers) peers.add(other);
  }
  peers.delete(host);
  return [...peers].sort();
}

function servicesInvolving(fleet: FleetReader, host: string): Map<string, StoredService> {
  const found = new Map<string, StoredService>();
  for (const index of [SERVICES_TOUCHING_HOST, SERVICES_BY_STANDBY]) {
    for (const service of fleet.find(index, host)) found.set(service.id, service);
  }
  for (const subnet of presenceOf(fleet).subnetsOn(host)) {
    for (const id of servicesOfSubnet(fleet, subnet)) {
      const service = fleet.get(SERVICE, idOf(SERVICE, id));
      if (service !== undefined) found.set(id, service);
    }
  }
  return found;
}
