// Decides between which hosts BFD sessions run: hosts that send to a service monitor its designated host and its standby, and both of those
// monitor them. Derived from services alone, so that both ends of a session compute the same.
import { idOf, type FleetReader } from '../fleet/index.ts';
import { presenceOf } from '../network/index.ts';
import { SERVICE, SERVICES_BY_STANDBY, SERVICES_TOUCHING_HOST, type Service, type StoredService } from './model.ts';
import { bfdSettingsOf } from './settings.ts';
import { hasStandby } from './standby.ts';
import { firstHostsWithPresence, servicesOfSubnet } from './desired-services.ts';

/** A majority of this many is as reliable as one of more, and each costs the designated host a session. */
export const BFD_OBSERVERS_MAX = 64;

/**
 * The hosts that are monitored: the designated host, the standby, and both ends of a handover. A sender that still uses the old host must not
 * consider it lost.
 */
export function bfdObservedHostsOf({ type, designated, standby, handover }: Service): string[] {
  if (!hasStandby(type) || designated === undefined) return [];
  const hosts = [designated.host, standby, handover?.from, handover?.to];
  return [...new Set(hosts.filter((host) => host !== undefined))];
}

/** The first of those with presence by name; `more` includes the next one. */
export function bfdObserverHostsOf(fleet: FleetReader, doc: Service, more = 0): string[] {
  const watched = bfdObservedHostsOf(doc);
  return watched.length === 0
    ? []
    : firstHostsWithPresence(fleet, doc, { count: BFD_OBSERVERS_MAX + more, except: watched });
}

/** The BFD peers of a host, sorted by name. The relation is symmetric. */
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
