// The view part for networks: the layer-2 domains and routers that a host is involved in, with every port in them that is bound elsewhere.
// A host is involved in a domain when a port of its own is in it, or when it routes into it. A pure function of the fleet and the host.
import { isTrusted } from './host-trust.ts';
import {
  eachInSteps,
  sortInSteps,
  type AppliedChange,
  type FleetReader,
  type Id,
  type Steps,
  type Stored,
} from '../../fleet/index.ts';
import { SERVICE, type Service } from '../../election/index.ts';
import { findHost, HOST, type LargeViewPart } from '../../hosts/index.ts';
import {
  PORT,
  PORTS_BY_HOST,
  PORTS_BY_NETWORK,
  PORTS_BY_SEGMENT,
  presenceOf,
  ROUTER,
  ROUTERS_BY_SUBNET,
  SEGMENT,
  SUBNET,
  SUBNETS_BY_NETWORK,
  TUNNEL_KEY,
  tunnelKeyOf,
  type Port,
  type Router,
  type Subnet,
} from '../../network/index.ts';
import {
  addPresence,
  hostsOfRouter,
  hostsOfService,
  relatedHostsIn,
  participantsOf,
  servicesOfHost,
  servicesOfSubnets,
  subnetsOfService,
} from './related-hosts.ts';
import { buildSubnet } from './services-part.ts';
import {
  domainOf,
  type DomainView,
  type RemotePortView,
  type NetworksView,
  type RouterView,
  type SubnetView,
} from './dataplane-view.ts';

const NONE: NetworksView = { domains: [], routers: [] };

export const networksPart: LargeViewPart = {
  name: 'networks',
  buildInSteps: buildNetworksInSteps,
  affects: (change, fleet) => {
    switch (change.kind) {
      case PORT.name:
        return affectedByPort(fleet, change);
      case ROUTER.name:
        return affectedByRouter(fleet, change);
      case SERVICE.name:
        return affectedByService(fleet, change);
      case SUBNET.name:
        return affectedBySubnet(fleet, change);
      case TUNNEL_KEY.name:
        return affectedByTunnelKey(fleet, change);
      case HOST.name:
        return isTrusted(change.before?.doc) === isTrusted(change.after?.doc)
          ? []
          : [(change.after ?? change.before)?.id ?? ''];
      default:
        return [];
    }
  },
};

function* buildNetworksInSteps(fleet: FleetReader, id: string): Steps<NetworksView | undefined> {
  const host = findHost(fleet, id)?.doc;
  if (host === undefined) return undefined;
  if (!isTrusted(host)) return NONE;
  const { domains, routers } = collectScope(fleet, id);
  const shown: DomainView[] = [];
  for (const domain of [...domains].sort()) shown.push(...(yield* buildDomain(fleet, domain, id)));
  return { domains: shown, routers: [...routers].sort().flatMap((router) => buildRouter(fleet, router)) };
}

interface HostScope {
  readonly domains: ReadonlySet<string>;
  readonly routers: ReadonlySet<string>;
}

/** The domains of its ports, and those of every router that one of its subnets is behind or that it serves. */
function collectScope(fleet: FleetReader, host: string): HostScope {
  const domains = new Set<string>();
  const subnets = new Set<string>();
  for (const { doc } of fleet.find(PORTS_BY_HOST, host)) {
    domains.add(domainOf({ network: doc.network, segment: doc.binding?.segment }));
    for (const { subnet } of doc.addresses) subnets.add(subnet);
  }
  for (const { doc } of servicesOfHost(fleet, host))
    for (const subnet of subnetsOfService(fleet, doc)) subnets.add(subnet);
  const routers = new Set<string>();
  for (const subnet of subnets) for (const router of fleet.find(ROUTERS_BY_SUBNET, subnet)) routers.add(router.id);
  for (const router of routers) {
    for (const subnet of fleet.get(ROUTER, router as Id<'router'>)?.doc.subnets ?? []) subnets.add(subnet);
  }
  for (const id of subnets) {
    const subnet = fleet.get(SUBNET, id as Id<'subnet'>)?.doc;
    if (subnet !== undefined) domains.add(domainOf(subnet));
  }
  return { domains, routers };
}

function* buildDomain(fleet: FleetReader, id: string, host: string): Steps<DomainView[]> {
  const [kind, name] = id.split('/') as ['network' | 'segment', string];
  const key = tunnelKeyOf(fleet, { for: kind, id: name });
  if (key === undefined) return [];
  const found = kind === 'segment' ? fleet.find(PORTS_BY_SEGMENT, name) : fleet.find(PORTS_BY_NETWORK, name);
  const far: RemotePortView[] = [];
  // Read at once: the members of an index are only certain until the next change.
  yield* eachInSteps([...found], (port) => {
    const shown = buildRemotePort(port, kind);
    if (shown !== undefined && shown.host !== host) far.push(shown);
  });
  const ports = yield* sortInSteps(far, (one, other) => (one.id < other.id ? -1 : 1));
  return [{ id, key, subnets: subnetsIn(fleet, kind, name), ports }];
}

function subnetsIn(fleet: FleetReader, kind: 'network' | 'segment', name: string): SubnetView[] {
  const network = kind === 'network' ? name : fleet.get(SEGMENT, name as Id<'segment'>)?.doc.network;
  const all = network === undefined ? [] : [...fleet.find(SUBNETS_BY_NETWORK, network)];
  const ours = all.filter(({ doc }) => doc.segment === (kind === 'segment' ? name : undefined));
  return ours
    .map(({ id }) => id as string)
    .sort()
    .flatMap((id) => buildSubnet(fleet, id));
}

function buildRemotePort({ id, doc }: Stored<'port', Port>, kind: 'network' | 'segment'): RemotePortView | undefined {
  const { binding, mac, addresses } = doc;
  if (binding?.host === undefined || (kind === 'network' && binding.segment !== undefined)) return undefined;
  return { id, mac, addresses: addresses.map(({ ip }) => ip), host: binding.host };
}

function buildRouter(fleet: FleetReader, id: string): RouterView[] {
  const key = tunnelKeyOf(fleet, { for: 'router', id });
  const router = fleet.get(ROUTER, id as Id<'router'>)?.doc;
  if (key === undefined || router === undefined) return [];
  return [{ id, key, subnets: [...router.subnets].sort().flatMap((subnet) => buildSubnet(fleet, subnet)) }];
}

/** The hosts whose view has a network: those with ports in it, and those that route into one of its subnets. */
function hostsWithNetworks(fleet: FleetReader, networks: Iterable<string>): Set<string> {
  const all = [...networks];
  const subnets = all.flatMap((network) => [...fleet.find(SUBNETS_BY_NETWORK, network)].map(({ id }): string => id));
  return relatedHostsIn(fleet, { networks: all, subnets: expandRouted(fleet, subnets) });
}

/** The hosts whose view has a segment: those with ports on it, and those that route into one of its subnets. */
function hostsWithSegment(fleet: FleetReader, segment: string, network: string): Set<string> {
  const subnets = [...fleet.find(SUBNETS_BY_NETWORK, network)].filter(({ doc }) => doc.segment === segment);
  const all = expandRouted(
    fleet,
    subnets.map(({ id }): string => id),
  );
  const hosts = relatedHostsIn(fleet, { networks: [], subnets: all });
  addPresence(fleet, hosts, all);
  for (const host of presenceOf(fleet).addresslessPortCountsOn(segment).keys()) hosts.add(host);
  return hosts;
}

/** These subnets, and all that they are routed to. */
function expandRouted(fleet: FleetReader, subnets: Iterable<string>): string[] {
  const found = new Set(subnets);
  for (const subnet of [...found]) {
    for (const router of fleet.find(ROUTERS_BY_SUBNET, subnet)) for (const one of router.doc.subnets) found.add(one);
  }
  return [...found];
}

/** The parts of a port that other hosts see. */
function portFingerprint(port: Port | undefined): string {
  if (port?.binding === undefined) return '';
  const { binding, mac, network, addresses } = port;
  return [binding.host, binding.segment, mac, network, ...addresses.map(({ ip }) => ip)].join('|');
}

function affectedByPort(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Port | undefined, after?.doc as Port | undefined];
  if (portFingerprint(was) === portFingerprint(is)) return [];
  const hosts = new Set<string>();
  for (const { network, binding } of [was, is].filter((port) => port !== undefined)) {
    if (binding?.host === undefined) continue;
    const { host, segment } = binding;
    const seeing =
      segment === undefined ? hostsWithNetworks(fleet, [network]) : hostsWithSegment(fleet, segment, network);
    for (const one of seeing) hosts.add(one);
    hosts.add(host);
  }
  return [...hosts];
}

function affectedByRouter(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Router | undefined, after?.doc as Router | undefined];
  if (was?.subnets.join() === is?.subnets.join()) return [];
  const subnets = new Set([...(was?.subnets ?? []), ...(is?.subnets ?? [])]);
  const hosts = hostsOfRouter(fleet, (after ?? before)?.id ?? '', subnets);
  // Hosts that serve one of its subnets, with or without ports in it.
  for (const { doc } of servicesOfSubnets(fleet, subnets).values())
    for (const host of participantsOf(doc)) hosts.add(host);
  return [...hosts];
}

/** The hosts that become or cease to be involved in a service. */
function affectedByService(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const hosts = new Set<string>();
  for (const side of [before, after]) {
    const service = side?.doc as Service | undefined;
    if (service !== undefined) for (const host of participantsOf(service)) hosts.add(host);
  }
  const only = (before === undefined ? after : after === undefined ? before : undefined)?.doc as Service | undefined;
  if (only !== undefined) for (const host of hostsOfService(fleet, only)) hosts.add(host);
  return [...hosts];
}

function affectedBySubnet(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const [was, is] = [before?.doc as Subnet | undefined, after?.doc as Subnet | undefined];
  if (was?.cidr === is?.cidr && was?.gateway === is?.gateway && was?.network === is?.network) return [];
  const networks = [was, is].flatMap((side) => (side === undefined ? [] : [side.network]));
  const hosts = hostsWithNetworks(fleet, networks);
  const subnets = expandRouted(fleet, [(after ?? before)?.id ?? '']);
  for (const host of relatedHostsIn(fleet, { networks, subnets })) hosts.add(host);
  return [...hosts];
}

function affectedByTunnelKey(fleet: FleetReader, { before, after }: AppliedChange): readonly string[] {
  const of = (after ?? before)?.doc as { readonly for: string; readonly id: string } | undefined;
  if (of === undefined) return [];
  if (of.for === 'network') return [...hostsWithNetworks(fleet, [of.id])];
  if (of.for === 'router') {
    const subnets = fleet.get(ROUTER, of.id as Id<'router'>)?.doc.subnets ?? [];
    return [...hostsOfRouter(fleet, of.id, subnets), ...relatedHostsIn(fleet, { networks: [], subnets })];
  }
  const network = fleet.get(SEGMENT, of.id as Id<'segment'>)?.doc.network;
  return network === undefined ? [] : [...hostsWithNetworks(fleet, [network])];
}
