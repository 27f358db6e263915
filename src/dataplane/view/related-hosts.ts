// Which hosts are related: the services that concern a host, and the hosts with which it shares a network, a router or a service. Derived
// from bound ports, routers and designations, at a cost proportional to the result.
import { eachInSteps, type FleetReader, type Id, type Steps } from '../../fleet/index.ts';
import {
  SERVICE,
  SERVICES_BY_STANDBY,
  SERVICES_BY_SUBJECT,
  SERVICES_TOUCHING_HOST,
  type Service,
  type StoredService,
} from '../../election/index.ts';
import { presenceOf, ROUTER, ROUTERS_BY_SUBNET } from '../../network/index.ts';

/** The subnets whose ports give a service its presence. */
export function subnetsOfService(
  fleet: FleetReader,
  { type, subject }: Pick<Service, 'type' | 'subject'>,
): readonly string[] {
  return type === 'nat' ? (fleet.get(ROUTER, subject as Id<'router'>)?.doc.subnets ?? []) : [subject];
}

export function participantsOf({ designated, standby, handover }: Service): string[] {
  return [designated?.host, standby, handover?.from, handover?.to].filter((host) => host !== undefined);
}

/** The services that concern a host; one may appear twice. */
function* servicesWithParticipant(fleet: FleetReader, host: string): Iterable<StoredService> {
  yield* fleet.find(SERVICES_TOUCHING_HOST, host);
  yield* fleet.find(SERVICES_BY_STANDBY, host);
}

/** All hosts that a service concerns: those with presence, the designated one, and both ends of a handover. */
export function hostsOfService(fleet: FleetReader, service: Service): Set<string> {
  const hosts = new Set(participantsOf(service));
  addPresence(fleet, hosts, subnetsOfService(fleet, service));
  return hosts;
}

/** The services of these subnets: their own, and the NAT of the routers that they are behind. */
export function servicesOfSubnets(fleet: FleetReader, subnets: Iterable<string>): Map<string, StoredService> {
  const found = new Map<string, StoredService>();
  const add = (subject: string, isNat: boolean): void => {
    for (const service of fleet.find(SERVICES_BY_SUBJECT, subject)) {
      if ((service.doc.type === 'nat') === isNat) found.set(service.id, service);
    }
  };
  for (const subnet of subnets) {
    add(subnet, false);
    for (const router of fleet.find(ROUTERS_BY_SUBNET, subnet)) add(router.id, true);
  }
  return found;
}

/** All hosts that the NAT of a router concerns that has, or had, these subnets behind it. */
export function hostsOfRouter(fleet: FleetReader, router: string, subnets: Iterable<string>): Set<string> {
  const hosts = new Set<string>();
  addPresence(fleet, hosts, subnets);
  for (const { doc } of fleet.find(SERVICES_BY_SUBJECT, router)) {
    if (doc.type === 'nat') for (const host of participantsOf(doc)) hosts.add(host);
  }
  return hosts;
}

/** The services that a host has presence for or a role in, in the order of ids. */
export function servicesOfHost(fleet: FleetReader, host: string): StoredService[] {
  if (fleet.count(SERVICE) === 0) return [];
  const found = servicesOfSubnets(fleet, presenceOf(fleet).subnetsOn(host));
  for (const service of servicesWithParticipant(fleet, host)) found.set(service.id, service);
  return [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** The hosts that share a network, a router or a service with a host. The relation is symmetric. */
export function relatedHosts(fleet: FleetReader, host: string): Set<string> {
  return hostsOfRelations(fleet, relationsOf(fleet, host));
}

/** As above, but yields to other work in between; hosts that are added or removed meanwhile may be included or not. */
export function* hostsSharingInSteps(fleet: FleetReader, host: string): Steps<Set<string>> {
  const presence = presenceOf(fleet);
  const { networks, subnets, hosts } = relationsOf(fleet, host);
  const all = new Set(hosts);
  for (const network of networks)
    yield* eachInSteps(presence.portCountsInNetwork(network).keys(), (one) => all.add(one));
  for (const subnet of subnets) yield* eachInSteps(presence.portCountsInSubnet(subnet).keys(), (one) => all.add(one));
  return all;
}

export interface PresenceScope {
  readonly networks: readonly string[];
  readonly subnets: readonly string[];
}

/** The related hosts that have a port in these places. */
export function relatedHostsIn(fleet: FleetReader, places: PresenceScope): Set<string> {
  return hostsOfRelations(fleet, relationsIn(fleet, places));
}

/** What relates a host to others, before it is resolved to hosts: networks, subnets, and hosts. */
export interface Relations {
  readonly networks: readonly string[];
  readonly subnets: Set<string>;
  readonly hosts: Set<string>;
}

/** Costs what the host has, however many hosts are in its networks. */
export function relationsOf(fleet: FleetReader, host: string): Relations {
  const presence = presenceOf(fleet);
  const circle = relationsIn(fleet, { networks: presence.networksOn(host), subnets: presence.subnetsOn(host) });
  for (const { doc } of servicesWithParticipant(fleet, host)) {
    for (const subnet of subnetsOfService(fleet, doc)) circle.subnets.add(subnet);
    for (const other of participantsOf(doc)) circle.hosts.add(other);
  }
  return circle;
}

function relationsIn(fleet: FleetReader, { networks, subnets }: PresenceScope): Relations {
  const circle: Relations = { networks, subnets: new Set(), hosts: new Set() };
  for (const subnet of subnets) {
    for (const router of fleet.find(ROUTERS_BY_SUBNET, subnet)) {
      for (const other of router.doc.subnets) circle.subnets.add(other);
    }
  }
  for (const { doc } of servicesOfSubnets(fleet, subnets).values()) {
    for (const host of participantsOf(doc)) circle.hosts.add(host);
  }
  return circle;
}

function hostsOfRelations(fleet: FleetReader, { networks, subnets, hosts }: Relations): Set<string> {
  const presence = presenceOf(fleet);
  const all = new Set(hosts);
  for (const network of networks) for (const host of presence.portCountsInNetwork(network).keys()) all.add(host);
  addPresence(fleet, all, subnets);
  return all;
}

export function addPresence(fleet: FleetReader, hosts: Set<string>, subnets: Iterable<string>): void {
  const presence = presenceOf(fleet);
  for (const subnet of subnets) for (const host of presence.portCountsInSubnet(subnet).keys()) hosts.add(host);
}
