// What should be on a host's switch, compiled from its view: tunnels, groups, flows, external ids. Pure: the same view gives the
// same contents, whatever was there before and in whatever order the view lists things. Every flow leads back to its owner.
import { eachInSteps, finish, mapInSteps, sortInSteps, type Steps } from '../fleet/index.ts';
import { domainPiece, farPortPiece, hostPiece, peerPiece, portPiece } from './compile-basics.ts';
import { natPiece } from './compile-nat.ts';
import { routerPiece, type Behind, type RouterGround } from './compile-router.ts';
import { dhcpArrivals, dhcpPiece, routerArrivals, subnetRoutePiece } from './compile-subnet-services.ts';
import { within } from './in-subnet.ts';
import { macOf, Numbers, type Owner } from './keys.ts';
import type { Gap, Piece, Why } from './piece.ts';
import { domainOf, type DataplaneView, type ShownService, type ShownSwitchPort } from './shown.ts';
import type { Cookie, Flow, Group, SwitchContents, Tunnel } from './switch.ts';

export interface Compiled {
  readonly contents: SwitchContents;
  /** Whose flows a cookie marks. */
  readonly owners: ReadonlyMap<Cookie, Owner>;
  /** Why a flow is there, by its key. */
  readonly reasons: ReadonlyMap<string, Why>;
  readonly gaps: readonly Gap[];
  /** In which zone the connections of a service that translates are tracked, by its id. */
  readonly zones: ReadonlyMap<string, number>;
}

/** What only the host itself can know. */
export interface Surroundings {
  /** The hardware address of a next hop outside; undefined until it has answered. */
  readonly nextHop: (ip: string) => string | undefined;
  /** Whether a peer was ever heard since there are heartbeats with it; everybody was when it is not said. */
  readonly hasHeard?: (peer: string) => boolean;
}

/** Where nobody is asked, everybody has an address that is made of his name. */
export const NOBODY_AROUND: Surroundings = { nextHop: (ip) => macOf('next-hop', ip) };

/** The external id that shows a leaving host to whoever reads the switch. The journal is the truth; this is its projection. */
export const TOMBSTONED_KEY = 'tombstoned';

const NOTHING: SwitchContents = { flows: [], groups: [], tunnels: [], externalIds: {} };

/** What is wanted of a switch that is not ours any more. */
export const WIPED: Compiled = { contents: NOTHING, owners: new Map(), reasons: new Map(), gaps: [], zones: new Map() };

export function compile(view: DataplaneView, around: Surroundings = NOBODY_AROUND): Compiled {
  return finish(compileInSteps(view, around));
}

/** The same with turns for others between: the contents of a switch may be as large as the fleet. */
export function* compileInSteps(shown: DataplaneView, around: Surroundings): Steps<Compiled> {
  if (shown.outcast) return WIPED;
  const view = { ...shown, peers: yield* byNameInSteps(shown.peers, ({ host }) => host) };
  const ground = yield* groundOf(view, around);
  const pieces = yield* piecesOf(view, ground);
  const { flows, owners, reasons, doubles } = yield* flowsOf(pieces, ground.numbers);
  const [groups, gaps]: [Group[], Gap[]] = [[], []];
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
    gaps: [...gaps, ...doubles],
    zones: zonesOf(view, ground),
  };
}

function* tunnelsOf({ peers, heartbeats: { everyMs, peers: heard } }: DataplaneView): Steps<Tunnel[]> {
  const listens = new Set(heard);
  return yield* mapInSteps(peers, ({ host, tunnelAddress }) => {
    return { peer: host, address: tunnelAddress, ...(listens.has(host) && { heartbeatMs: everyMs }) };
  });
}

function zonesOf({ services }: DataplaneView, { numbers }: RouterGround): ReadonlyMap<string, number> {
  const translated = byName(services, ({ id }) => id).filter(({ type }) => type === 'nat');
  return new Map(translated.map(({ id }) => [id, numbers.zone(id)]));
}

function* groundOf(
  { host, peers, networks, ports, heartbeats }: DataplaneView,
  around: Surroundings,
): Steps<RouterGround> {
  const behind = new Map<string, Behind[]>(networks.domains.map(({ id }) => [id, []]));
  const add = (domain: string, { mac, addresses }: Pick<ShownSwitchPort, 'mac' | 'addresses'>): void => {
    for (const ip of addresses) behind.get(domain)?.push({ ip, mac });
  };
  for (const port of ports) add(domainOf(port), port);
  for (const { id, ports: far } of networks.domains) yield* eachInSteps(far, (port) => add(id, port));
  const addresses = new Map<string, string>();
  yield* eachInSteps(peers, (peer) => addresses.set(peer.host, peer.tunnelAddress));
  return {
    host,
    numbers: new Numbers(),
    peers: addresses,
    domains: new Map(networks.domains.map(({ id, key }) => [id, key])),
    routers: new Map(networks.routers.map(({ id, key }) => [id, key])),
    nextHop: around.nextHop,
    listensFor: (peer) => heartbeats.peers.includes(peer) && (around.hasHeard?.(peer) ?? true),
    behind,
  };
}

function* piecesOf(view: DataplaneView, ground: RouterGround): Steps<Piece[]> {
  const { networks, services } = view;
  const ports = byName(view.ports, ({ id }) => id);
  const pieces: Piece[] = [hostPiece(view.host)];
  yield* eachInSteps(view.peers, (peer) => pieces.push(peerPiece(peer)));
  yield* eachInSteps(ports, (port) => pieces.push(localPiece(port, ground)));
  for (const domain of byName(networks.domains, ({ id }) => id)) {
    pieces.push(yield* domainPiece(domain, portsIn(ports, domain.id), ground));
    pieces.push({ owner: { kind: 'domain', id: domain.id }, flows: dhcpArrivals(domain, services) });
    const far = yield* byNameInSteps(domain.ports, ({ id }) => id);
    yield* eachInSteps(far, (port) => pieces.push(farPortPiece(port, domain.key, ground)));
  }
  for (const router of byName(networks.routers, ({ id }) => id)) {
    pieces.push(yield* routerPiece(router, ground));
    pieces.push({ owner: { kind: 'router', id: router.id }, flows: routerArrivals(router, services) });
  }
  yield* eachInSteps(
    byName(services, ({ id }) => id),
    (service) => pieces.push(servicePiece(service, ground, ports)),
  );
  return pieces;
}

function localPiece(port: ShownSwitchPort, { domains }: RouterGround): Piece {
  const owner = { kind: 'port', id: port.id } as const;
  const key = domains.get(domainOf(port));
  if (key !== undefined) return portPiece(port, key);
  return { owner, flows: [], gaps: [{ owner, because: 'no-key', what: domainOf(port) }] };
}

function portsIn(ports: readonly ShownSwitchPort[], domain: string): ShownSwitchPort[] {
  return ports.filter((port) => domainOf(port) === domain);
}

function servicePiece(service: ShownService, ground: RouterGround, ports: readonly ShownSwitchPort[]): Piece {
  switch (service.type) {
    case 'nat':
      return natPiece(service, ground);
    case 'subnet-route':
      return subnetRoutePiece(service, ground);
    case 'dhcp':
      return dhcpPiece(service, ground, portsOfSubnet(service, ports));
    default:
      // A type that a newer server knows.
      return { owner: { kind: 'service', id: service.id }, flows: [] };
  }
}

function portsOfSubnet({ subnets: [subnet] }: ShownService, ports: readonly ShownSwitchPort[]): ShownSwitchPort[] {
  if (subnet === undefined) return [];
  const isInside = within(subnet.cidr);
  return portsIn(ports, subnet.domain).filter(({ addresses }) => addresses.some(isInside));
}

const FLOWS_PER_STEP = 256;

interface Made {
  readonly flows: readonly Flow[];
  readonly owners: ReadonlyMap<Cookie, Owner>;
  readonly reasons: ReadonlyMap<string, Why>;
  readonly doubles: readonly Gap[];
}

/** One map after the other: each is written anew when it grows, and all of them at once would be one long piece. */
function* flowsOf(pieces: readonly Piece[], numbers: Numbers): Steps<Made> {
  const cookies = yield* mapInSteps(pieces, ({ owner }) => numbers.cookie(owner));
  const kept = new Map<string, { readonly flow: Flow; readonly why: Why; readonly owner: Owner }>();
  const doubles: Gap[] = [];
  let sinceTurn = 0;
  for (const [nth, { owner, flows }] of pieces.entries()) {
    const cookie = cookies[nth] as Cookie;
    // Of a router there may be one for each port of the fleet.
    for (const { table, priority, match, actions, why } of flows) {
      const flow = { table, priority, match, actions, cookie };
      const key = flowKey(flow);
      if (kept.has(key)) doubles.push({ owner, because: 'same-match', what: key });
      else kept.set(key, { flow, why, owner });
      sinceTurn += 1;
      if (sinceTurn % FLOWS_PER_STEP === 0) yield;
    }
  }
  const reasons = new Map<string, Why>();
  yield* eachInSteps(kept, ([key, { why }]) => reasons.set(key, why));
  const owners = new Map<Cookie, Owner>();
  const flows: Flow[] = [];
  yield* eachInSteps(kept.values(), ({ flow, owner }) => {
    flows.push(flow);
    owners.set(flow.cookie, owner);
  });
  return { flows: yield* sortInSteps(flows, inOrder), owners, reasons, doubles };
}

/** Two flows with the same key are the same one. */
export function flowKey({ table, priority, match }: Pick<Flow, 'table' | 'priority' | 'match'>): string {
  return `table=${table},priority=${priority}${match === '' ? '' : ','}${match}`;
}

function inOrder(one: Flow, other: Flow): number {
  return one.table - other.table || other.priority - one.priority || (one.match < other.match ? -1 : 1);
}

function byName<T>(things: readonly T[], nameOf: (thing: T) => string): T[] {
  return finish(byNameInSteps(things, nameOf));
}

function byNameInSteps<T>(things: readonly T[], nameOf: (thing: T) => string): Steps<T[]> {
  return sortInSteps(things, (one, other) => (nameOf(one) < nameOf(other) ? -1 : nameOf(one) > nameOf(other) ? 1 : 0));
}
