// The view part for services: those that a host has presence for or a role in, its own role in each, and what is needed to compile it.
// Where a change concerns several hosts, their views change in the same commit.
import type { AppliedChange, FleetReader, Id, Stored } from '../../fleet/index.ts';
import {
  isBeforeSwitch,
  SERVICE,
  SERVICES_TOUCHING_HOST,
  type Service,
  type StoredService,
} from '../../election/index.ts';
import { findHost, HOST, type Host, type SmallViewPart } from '../../hosts/index.ts';
import {
  FLOATING_ADDRESS,
  FLOATING_ADDRESSES_BY_PORT,
  FLOATING_ADDRESSES_BY_ROUTER,
  PORT,
  PORTS_BY_HOST,
  ROUTER,
  ROUTERS_BY_EXTERNAL_NETWORK,
  ROUTERS_BY_SUBNET,
  SUBNET,
  SUBNETS_BY_NETWORK,
  type FloatingAddress,
  type ExternalAddress,
  type Port,
  type Router,
  type Subnet,
} from '../../network/index.ts';
import {
  addPresence,
  hostsOfRouter,
  hostsOfService,
  servicesOfHost,
  servicesOfSubnets,
  subnetsOfService,
} from './related-hosts.ts';
import { domainOf, type ServiceRole, type ServiceView, type SubnetView } from './dataplane-view.ts';

export const servicesPart: SmallViewPart = {
  name: 'services',
  build: (fleet, id): readonly ServiceView[] | undefined => {
    const host = findHost(fleet, id)?.doc;
    if (host === undefined) return undefined;
    if (host.quarantined !== undefined || host.state === 'removed') return [];
    return servicesOfHost(fleet, id).map((service) => buildService(fleet, id, service));
  },
  affects: (change, fleet) => {
    switch (change.kind) {
      case SERVICE.name:
        return affectedByService(fleet, change);
      case HOST.name:
        return affectedByHost(fleet, change);
      case ROUTER.name:
        return affectedByRouter(fleet, change);
      case SUBNET.name:
        return affectedBySubnet(fleet, change);
      case FLOATING_ADDRESS.name:
        return affectedByFloatingAddress(fleet, change);
      case PORT.name:
        return [change.before, change.after].flatMap((side) => hostOf(side?.doc as Port | undefined) ?? []);
      default:
        return [];
    }
  },
};

function buildService(fleet: FleetReader, host: string, { id, doc }: StoredService): ServiceView {
  const { type, epoch, designated, standby, handover } = doc;
  const subnets = subnetsOfService(fleet, doc).flatMap((subnet) => buildSubnet(fleet, subnet));
  const other = handover === undefined ? undefined : otherHostOf(handover, host);
  return {
    id,
    type,
    epoch,
    role: roleOf(doc, host),
    ...(designated !== undefined && { designated: { host: designated.host, ...addressOf(fleet, designated.host) } }),
    ...(standby !== undefined && { standby }),
    ...(handover !== undefined &&
      other !== undefined && {
        handover: { phase: handover.phase, operation: handover.operation, other, ...addressOf(fleet, other) },
      }),
    subnets,
    ...(type === 'nat' && { router: doc.subject, ...natFacts(fleet, host, doc.subject) }),
    ...(type === 'subnet-route' && routeFacts(fleet, doc.subject)),
  };
}

/** The router that a subnet is behind, and the next hop of what leaves it untranslated. */
function routeFacts(fleet: FleetReader, subnet: string): Pick<ServiceView, 'router' | 'via'> {
  const [router] = fleet.find(ROUTERS_BY_SUBNET, subnet);
  if (router === undefined) return {};
  const version = fleet.get(SUBNET, subnet as Id<'subnet'>)?.doc.version;
  const outside = [...fleet.find(SUBNETS_BY_NETWORK, router.doc.externalNetwork ?? '')];
  const via = outside.find(({ doc }) => doc.version === version && doc.gateway !== undefined)?.doc.gateway;
  return { router: router.id, ...(via !== undefined && { via }) };
}

/** The gateway of the subnet that an external address is in. */
function viaOf(fleet: FleetReader, outside: ExternalAddress | undefined): { readonly via?: string } {
  const [address] = outside === undefined ? [] : (fleet.get(PORT, outside.port as Id<'port'>)?.doc.addresses ?? []);
  const via = address === undefined ? undefined : fleet.get(SUBNET, address.subnet as Id<'subnet'>)?.doc.gateway;
  return via === undefined ? {} : { via };
}

/** The old host continues to do what it did until its view says that it retires. */
export function roleOf(service: Pick<Service, 'designated' | 'standby' | 'handover'>, host: string): ServiceRole {
  const { designated, standby, handover } = service;
  if (designated?.host === host) return 'designated';
  if (handover !== undefined) {
    if (isBeforeSwitch(handover) && handover.to === host) return 'preparing';
    if (!isBeforeSwitch(handover) && handover.from === host) return 'retiring';
  }
  return standby === host ? 'standby' : 'other';
}

function otherHostOf({ from, to }: NonNullable<Service['handover']>, host: string): string | undefined {
  if (host === from) return to;
  return host === to ? from : undefined;
}

function addressOf(fleet: FleetReader, host: string): { readonly tunnelAddress?: string } {
  const tunnelAddress = findHost(fleet, host)?.doc.tunnelAddress;
  return tunnelAddress === undefined ? {} : { tunnelAddress };
}

export function buildSubnet(fleet: FleetReader, id: string): SubnetView[] {
  const subnet = fleet.get(SUBNET, id as Id<'subnet'>)?.doc;
  if (subnet === undefined) return [];
  const { network, cidr, gateway } = subnet;
  return [{ id, network, domain: domainOf(subnet), cidr, ...(gateway !== undefined && { gateway }) }];
}

function natFacts(fleet: FleetReader, host: string, router: string): Pick<ServiceView, 'nat' | 'via' | 'floating'> {
  const nat = fleet.get(ROUTER, router as Id<'router'>)?.doc.nat;
  const floating = floatingFor(fleet, host, router).flatMap(({ doc }) => {
    const port = insidePort(fleet, doc);
    if (doc.inside?.router !== router || port?.doc.binding?.host !== host) return [];
    return [{ outside: doc.outside.ip, inside: doc.inside.ip, ...viaOf(fleet, doc.outside) }];
  });
  floating.sort((one, other) => (one.outside < other.outside ? -1 : 1));
  return {
    ...(nat !== undefined && { nat: { router, ip: nat.ip } }),
    ...viaOf(fleet, nat),
    ...(floating.length > 0 && { floating }),
  };
}

/** The floating addresses of the router or those of the host's ports, whichever are fewer to scan. */
function floatingFor(fleet: FleetReader, host: string, router: string): Stored<'floating-address', FloatingAddress>[] {
  const ofRouter = fleet.countOf(FLOATING_ADDRESSES_BY_ROUTER, router);
  if (ofRouter <= fleet.countOf(PORTS_BY_HOST, host)) return [...fleet.find(FLOATING_ADDRESSES_BY_ROUTER, router)];
  return [...fleet.find(PORTS_BY_HOST, host)].flatMap(({ id }) => [...fleet.find(FLOATING_ADDRESSES_BY_PORT, id)]);
}

function insidePort(fleet: FleetReader, { inside }: FloatingAddress): Stored<'port', Port> | undefined {
  return inside === undefined ? undefined : fleet.get(PORT, inside.port as Id<'port'>);
}

function hostOf(port: Port | undefined): string | undefined {
  return port?.binding?.host;
}

/** What others see of it: why it is where it is concerns no switch. */
function serviceFingerprint({ epoch, designated, standby, handover }: Service): string {
  const { operation, from, to, phase } = handover ?? {};
  return [epoch, designated?.host, standby, operation, from, to, phase].join('|');
}

function affectedByService(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Service | undefined, after?.doc as Service | undefined];
  if (was !== undefined && is !== undefined && serviceFingerprint(was) === serviceFingerprint(is)) return [];
  const hosts = new Set<string>();
  for (const side of [was, is]) {
    if (side !== undefined) for (const host of hostsOfService(fleet, side)) hosts.add(host);
  }
  return [...hosts];
}

/** Quarantine changes only the view of the host itself; the views of others change only with the address at which it serves. */
function affectedByHost(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Host | undefined, after?.doc as Host | undefined];
  const id = (after ?? before)?.id ?? '';
  if (was?.tunnelAddress === is?.tunnelAddress) return [id];
  const hosts = new Set([id]);
  for (const { doc } of fleet.find(SERVICES_TOUCHING_HOST, id)) {
    for (const host of hostsOfService(fleet, doc)) hosts.add(host);
  }
  return [...hosts];
}

function affectedByRouter(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Router | undefined, after?.doc as Router | undefined];
  const subnets = new Set([...(was?.subnets ?? []), ...(is?.subnets ?? [])]);
  if (was?.nat?.ip === is?.nat?.ip && was?.subnets.join() === is?.subnets.join()) return [];
  return [...hostsOfRouter(fleet, (after ?? before)?.id ?? '', subnets)];
}

function affectedBySubnet(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Subnet | undefined, after?.doc as Subnet | undefined];
  if (was?.cidr === is?.cidr && was?.gateway === is?.gateway && was?.network === is?.network) return [];
  const hosts = new Set<string>();
  const subnets = [(after ?? before)?.id ?? ''];
  addPresence(fleet, hosts, subnets);
  for (const { doc } of servicesOfSubnets(fleet, subnets).values()) {
    for (const host of hostsOfService(fleet, doc)) hosts.add(host);
  }
  // Its gateway is the next hop of the services whose way out it is.
  for (const router of fleet.find(ROUTERS_BY_EXTERNAL_NETWORK, (is ?? was)?.network ?? '')) {
    for (const host of hostsOfRouter(fleet, router.id, router.doc.subnets)) hosts.add(host);
  }
  return [...hosts];
}

function affectedByFloatingAddress(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  return [before, after].flatMap((side) => {
    const floating = side?.doc as FloatingAddress | undefined;
    return hostOf(floating === undefined ? undefined : insidePort(fleet, floating)?.doc) ?? [];
  });
}
