// Compiles a host's view into the desired contents of its switch: tunnels, groups, flows, external ids. Pure: the same view gives the same
// contents, whatever the switch holds now and in whatever order the view lists things. Every flow names its owner; nothing here reads a
// switch.
import { eachInSteps, finish, mapInSteps, sortInSteps, type Steps } from '../../fleet/index.ts';
import { compileDomain, compileRemotePort, compileHost, compilePeer, compilePort } from './layer2.ts';
import { compileNat } from './nat.ts';
import { compileRouter, type RoutedAddress, type RouterCompileContext } from './router.ts';
import { dhcpTunnelFlows, compileDhcp, routerTunnelFlows, compileSubnetRoute } from './subnet-services.ts';
import { subnetMatcher } from '../view/subnet-matcher.ts';
import { macOf, IdAllocator, type Owner } from '../switch/derived-ids.ts';
import type { Gap, FlowFragment, FlowReason } from './flow-fragment.ts';
import { domainOf, type DataplaneView, type ServiceView, type LocalPortView } from '../view/dataplane-view.ts';
import {
  flowKey,
  TOMBSTONED_KEY,
  type Cookie,
  type Flow,
  type FlowGroup,
  type SwitchContents,
  type Tunnel,
} from '../switch/switch.ts';

export interface CompileResult {
  readonly contents: SwitchContents;
  /** The owner of the flows that carry a cookie. */
  readonly owners: ReadonlyMap<Cookie, Owner>;
  /** The reason of each flow, by its key. */
  readonly reasons: ReadonlyMap<string, FlowReason>;
  readonly gaps: readonly Gap[];
  /** The conntrack zone of each service that translates, by service id. */
  readonly zones: ReadonlyMap<string, number>;
}

/** Facts that only the host itself can find out. */
export interface LocalEnvironment {
  /** The hardware address of an external next hop; undefined until it has answered. */
  readonly nextHop: (ip: string) => string | undefined;
  /** Whether BFD with a peer was ever up since it is configured. When absent, every peer counts as seen up. */
  readonly hasBfdBeenUp?: (peer: string) => boolean;
}

/** For compiling away from a host: every address gets a placeholder derived from its name. */
export const STATIC_ENVIRONMENT: LocalEnvironment = { nextHop: (ip) => macOf('next-hop', ip) };

const NOTHING: SwitchContents = { flows: [], groups: [], tunnels: [], externalIds: {} };

/** The desired contents of a switch that is no longer managed: nothing. */
export const EMPTY_COMPILE_RESULT: CompileResult = {
  contents: NOTHING,
  owners: new Map(),
  reasons: new Map(),
  gaps: [],
  zones: new Map(),
};

export function compile(view: DataplaneView, environment: LocalEnvironment = STATIC_ENVIRONMENT): CompileResult {
  return finish(compileInSteps(view, environment));
}

/** As above, but yields to other work in between: the contents of a switch may be as large as the fleet. */
export function* compileInSteps(shown: DataplaneView, around: LocalEnvironment): Steps<CompileResult> {
  if (shown.excluded) return EMPTY_COMPILE_RESULT;
  const view = { ...shown, peers: yield* sortByNameInSteps(shown.peers, ({ host }) => host) };
  const ground = yield* createContext(view, around);
  const pieces = yield* compileFragments(view, ground);
  const { flows, owners, reasons, conflicts } = yield* mergeFlows(pieces, ground.allocator);
  const [groups, gaps]: [FlowGroup[], Gap[]] = [[], []];
  yield* eachInSteps(pieces, (piece) => {
    groups.push(...(piece.groups ?? []));
    gaps.push(...(piece.gaps ?? []));
  });
  return {
    contents: {
      flows,
      groups: groups.sort((one, other) => one.id - other.id),
      tunnels: yield* tunnelsOf(view),
      externalIds: view.tombstoned ? { [TOMBSTONED_KEY]: 'true' } : {},
    },
    owners,
    reasons,
    gaps: [...gaps, ...conflicts],
    zones: zonesOf(view, ground),
  };
}

function* tunnelsOf({ peers, bfd: { intervalMs, peers: bfdPeers } }: DataplaneView): Steps<Tunnel[]> {
  const listens = new Set(bfdPeers);
  return yield* mapInSteps(peers, ({ host, tunnelAddress }) => {
    return { peer: host, address: tunnelAddress, ...(listens.has(host) && { bfdIntervalMs: intervalMs }) };
  });
}

function zonesOf({ services }: DataplaneView, { allocator }: RouterCompileContext): ReadonlyMap<string, number> {
  const translated = sortBy(services, ({ id }) => id).filter(({ type }) => type === 'nat');
  return new Map(translated.map(({ id }) => [id, allocator.zone(id)]));
}

function* createContext(
  { host, peers, networks, ports, bfd }: DataplaneView,
  environment: LocalEnvironment,
): Steps<RouterCompileContext> {
  const addressesByDomain = new Map<string, RoutedAddress[]>(networks.domains.map(({ id }) => [id, []]));
  const add = (domain: string, { mac, addresses }: Pick<LocalPortView, 'mac' | 'addresses'>): void => {
    for (const ip of addresses) addressesByDomain.get(domain)?.push({ ip, mac });
  };
  for (const port of ports) add(domainOf(port), port);
  for (const { id, ports: far } of networks.domains) yield* eachInSteps(far, (port) => add(id, port));
  const addresses = new Map<string, string>();
  yield* eachInSteps(peers, (peer) => addresses.set(peer.host, peer.tunnelAddress));
  return {
    host,
    allocator: new IdAllocator(),
    peers: addresses,
    domains: new Map(networks.domains.map(({ id, key }) => [id, key])),
    routers: new Map(networks.routers.map(({ id, key }) => [id, key])),
    nextHop: environment.nextHop,
    isBfdMonitored: (peer) => bfd.peers.includes(peer) && (environment.hasBfdBeenUp?.(peer) ?? true),
    addressesByDomain,
  };
}

function* compileFragments(view: DataplaneView, context: RouterCompileContext): Steps<FlowFragment[]> {
  const { networks, services } = view;
  const ports = sortBy(view.ports, ({ id }) => id);
  const pieces: FlowFragment[] = [compileHost(view.host)];
  yield* eachInSteps(view.peers, (peer) => pieces.push(compilePeer(peer)));
  yield* eachInSteps(ports, (port) => pieces.push(compileLocalPort(port, context)));
  for (const domain of sortBy(networks.domains, ({ id }) => id)) {
    pieces.push(yield* compileDomain(domain, portsOfDomain(ports, domain.id), context));
    pieces.push({ owner: { kind: 'domain', id: domain.id }, flows: dhcpTunnelFlows(domain, services) });
    const far = yield* sortByNameInSteps(domain.ports, ({ id }) => id);
    yield* eachInSteps(far, (port) => pieces.push(compileRemotePort(port, domain.key, context)));
  }
  for (const router of sortBy(networks.routers, ({ id }) => id)) {
    pieces.push(yield* compileRouter(router, context));
    pieces.push({ owner: { kind: 'router', id: router.id }, flows: routerTunnelFlows(router, services) });
  }
  yield* eachInSteps(
    sortBy(services, ({ id }) => id),
    (service) => pieces.push(compileService(service, context, ports)),
  );
  return pieces;
}

function compileLocalPort(port: LocalPortView, { domains }: RouterCompileContext): FlowFragment {
  const owner = { kind: 'port', id: port.id } as const;
  const key = domains.get(domainOf(port));
  if (key !== undefined) return compilePort(port, key);
  return { owner, flows: [], gaps: [{ owner, reason: 'no-tunnel-key', what: domainOf(port) }] };
}

function portsOfDomain(ports: readonly LocalPortView[], domain: string): LocalPortView[] {
  return ports.filter((port) => domainOf(port) === domain);
}

function compileService(
  service: ServiceView,
  context: RouterCompileContext,
  ports: readonly LocalPortView[],
): FlowFragment {
  switch (service.type) {
    case 'nat':
      return compileNat(service, context);
    case 'subnet-route':
      return compileSubnetRoute(service, context);
    case 'dhcp':
      return compileDhcp(service, context, portsOfSubnet(service, ports));
    default:
      // A type that only a newer server knows.
      return { owner: { kind: 'service', id: service.id }, flows: [] };
  }
}

function portsOfSubnet({ subnets: [subnet] }: ServiceView, ports: readonly LocalPortView[]): LocalPortView[] {
  if (subnet === undefined) return [];
  const isInside = subnetMatcher(subnet.cidr);
  return portsOfDomain(ports, subnet.domain).filter(({ addresses }) => addresses.some(isInside));
}

const FLOWS_PER_STEP = 256;

interface MergedFlows {
  readonly flows: readonly Flow[];
  readonly owners: ReadonlyMap<Cookie, Owner>;
  readonly reasons: ReadonlyMap<string, FlowReason>;
  readonly conflicts: readonly Gap[];
}

/** Iterates the maps one after the other: each is copied when it grows, and copying all of them at once would block for long. */
function* mergeFlows(pieces: readonly FlowFragment[], numbers: IdAllocator): Steps<MergedFlows> {
  const cookies = yield* mapInSteps(pieces, ({ owner }) => numbers.cookie(owner));
  const kept = new Map<string, { readonly flow: Flow; readonly why: FlowReason; readonly owner: Owner }>();
  const conflicts: Gap[] = [];
  let sinceTurn = 0;
  for (const [nth, { owner, flows }] of pieces.entries()) {
    const cookie = cookies[nth] as Cookie;
    // A router may have one for each port of the fleet.
    for (const { table, priority, match, actions, reason } of flows) {
      const flow = { table, priority, match, actions, cookie };
      const key = flowKey(flow);
      if (kept.has(key)) conflicts.push({ owner, reason: 'match-conflict', what: key });
      else kept.set(key, { flow, why: reason, owner });
      sinceTurn += 1;
      if (sinceTurn % FLOWS_PER_STEP === 0) yield;
    }
  }
  const reasons = new Map<string, FlowReason>();
  yield* eachInSteps(kept, ([key, { why }]) => reasons.set(key, why));
  const owners = new Map<Cookie, Owner>();
  const flows: Flow[] = [];
  yield* eachInSteps(kept.values(), ({ flow, owner }) => {
    flows.push(flow);
    owners.set(flow.cookie, owner);
  });
  return { flows: yield* sortInSteps(flows, compareFlows), owners, reasons, conflicts };
}

function compareFlows(one: Flow, other: Flow): number {
  return one.table - other.table || other.priority - one.priority || (one.match < other.match ? -1 : 1);
}

function sortBy<T>(things: readonly T[], nameOf: (thing: T) => string): T[] {
  return finish(sortByNameInSteps(things, nameOf));
}

function sortByNameInSteps<T>(things: readonly T[], nameOf: (thing: T) => string): Steps<T[]> {
  return sortInSteps(things, (one, other) => (nameOf(one) < nameOf(other) ? -1 : nameOf(one) > nameOf(other) ? 1 : 0));
}
