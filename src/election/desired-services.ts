// Decides which services should exist, and where each has presence. Derived from routers, subnets and bound ports: services must be created
// and removed for no other reason.
import { idOf, type FleetReader } from '../fleet/index.ts';
import { presenceOf, ROUTER, ROUTERS_BY_SUBNET, SUBNET, type Router } from '../network/index.ts';
import { SERVICE, SERVICE_TYPES, serviceId, type ServiceId, type ServiceType } from './model.ts';

/** The subject of a service. */
export interface Subject {
  readonly type: ServiceType;
  readonly subject: string;
}

/** The type and subject in a service id; undefined for other ids. */
export function subjectOf(id: string): Subject | undefined {
  const at = id.indexOf(':');
  const type = SERVICE_TYPES.find((one) => one === id.slice(0, at));
  return type === undefined ? undefined : { type, subject: id.slice(at + 1) };
}

export function isDesired(fleet: FleetReader, { type, subject }: Subject): boolean {
  switch (type) {
    case 'nat':
      return router(fleet, subject)?.externalNetwork !== undefined;
    case 'subnet-route':
      return (
        fleet.get(SUBNET, idOf(SUBNET, subject)) !== undefined && routersOf(fleet, subject).some(hasExternalNetwork)
      );
    case 'dhcp': {
      const subnet = fleet.get(SUBNET, idOf(SUBNET, subject))?.doc;
      return subnet?.dhcp === true && subnet.version === 4;
    }
  }
}

/** Every service that a router may have, desired or not: its own, and those of these subnets. */
export function servicesOfRouter(id: string, subnets: readonly string[]): ServiceId[] {
  return [serviceId('nat', id), ...subnets.map((subnet) => serviceId('subnet-route', subnet))];
}

/** Every service of a subnet, desired or not: its own, and the NAT of its router. */
export function servicesOfSubnet(fleet: FleetReader, subnet: string): ServiceId[] {
  return [
    serviceId('subnet-route', subnet),
    serviceId('dhcp', subnet),
    ...[...fleet.find(ROUTERS_BY_SUBNET, subnet)].map(({ id }) => serviceId('nat', id)),
  ];
}

/** Every service that should exist or does, in the order of ids. Costs O(routers + subnets + services): for the scan. */
export function allServices(fleet: FleetReader): ServiceId[] {
  const ids = new Set<ServiceId>();
  for (const { id } of fleet.all(SERVICE)) ids.add(id);
  for (const { id, doc } of fleet.all(ROUTER)) {
    if (hasExternalNetwork(doc)) for (const one of servicesOfRouter(id, doc.subnets)) ids.add(one);
  }
  for (const { id, doc } of fleet.all(SUBNET)) if (doc.dhcp === true) ids.add(serviceId('dhcp', id));
  return [...ids].sort();
}

/** The subnets whose ports make the presence of a service. */
function subnetsOf(fleet: FleetReader, { type, subject }: Subject): readonly string[] {
  return type === 'nat' ? (router(fleet, subject)?.subnets ?? []) : [subject];
}

/** The hosts where a service has presence, each once, in no order. Costs O(presence). */
export function hostsWithPresence(fleet: FleetReader, of: Subject): Set<string> {
  return new Set(hostListsWithPresence(fleet, of).flat());
}

/** The same, subnet by subnet: a host may be in several. A list is the identical object while its hosts are the same. */
export function hostListsWithPresence(fleet: FleetReader, of: Subject): (readonly string[])[] {
  const presence = presenceOf(fleet);
  return subnetsOf(fleet, of).map((subnet) => presence.hostsInSubnet(subnet));
}

/** The first of them by name, with exceptions. Costs O(result), not O(presence). */
export function firstHostsWithPresence(fleet: FleetReader, of: Subject, { count, except }: PresenceLimit): string[] {
  const presence = presenceOf(fleet);
  const subnets = subnetsOf(fleet, of);
  const hosts = new Set<string>();
  for (const subnet of subnets) {
    let left = count;
    for (const host of presence.sortedHostsInSubnet(subnet)) {
      if (left === 0) break;
      if (except.includes(host)) continue;
      hosts.add(host);
      left -= 1;
    }
  }
  return subnets.length === 1 ? [...hosts] : [...hosts].sort().slice(0, count);
}

interface PresenceLimit {
  readonly count: number;
  readonly except: readonly string[];
}

export function hasPresence(fleet: FleetReader, of: Subject, host: string): boolean {
  const presence = presenceOf(fleet);
  return subnetsOf(fleet, of).some((subnet) => presence.portCountsInSubnet(subnet).has(host));
}

/** Whether any other host has presence. */
export function hasPresenceElsewhere(fleet: FleetReader, of: Subject, host?: string): boolean {
  return hostListsWithPresence(fleet, of).some((hosts) => hosts.some((present) => present !== host));
}

function router(fleet: FleetReader, id: string): Router | undefined {
  return fleet.get(ROUTER, idOf(ROUTER, id))?.doc;
}

function routersOf(fleet: FleetReader, subnet: string): Router[] {
  return [...fleet.find(ROUTERS_BY_SUBNET, subnet)].map(({ doc }) => doc);
}

function hasExternalNetwork({ externalNetwork }: Router): boolean {
  return externalNetwork !== undefined;
}
