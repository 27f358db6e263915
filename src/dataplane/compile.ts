// What should be on a host's switch, compiled from its view: tunnels, groups, flows, external ids. Pure: the same view gives the
// same contents, whatever was there before and in whatever order the view lists things. Every flow leads back to its owner.
import { domainPiece, farPortPiece, hostPiece, peerPiece, portPiece } from './compile-basics.ts';
import { natPiece } from './compile-nat.ts';
import { routerPiece, type Behind, type RouterGround } from './compile-router.ts';
import { dhcpArrivals, dhcpPiece, routerArrivals, subnetRoutePiece } from './compile-subnet-services.ts';
import { within } from './in-subnet.ts';
import { macOf, Numbers, type Owner } from './keys.ts';
import type { Gap, Piece, Why } from './piece.ts';
import { domainOf, type DataplaneView, type ShownService, type ShownSwitchPort } from './shown.ts';
import type { Cookie, Flow, SwitchContents, Tunnel } from './switch.ts';

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
  if (view.outcast) return WIPED;
  const ground = groundOf(view, around);
  const pieces = piecesOf(view, ground);
  const { flows, owners, reasons, doubles } = flowsOf(pieces, ground.numbers);
  return {
    contents: {
      flows,
      groups: pieces.flatMap(({ groups = [] }) => groups).sort((one, other) => one.id - other.id),
      tunnels: tunnelsOf(view),
      externalIds: view.tombstoned ? { [TOMBSTONED_KEY]: 'true' } : {},
    },
    owners,
    reasons,
    gaps: [...pieces.flatMap(({ gaps = [] }) => gaps), ...doubles],
    zones: zonesOf(view, ground),
  };
}

function tunnelsOf({ peers, heartbeats: { everyMs, peers: heard } }: DataplaneView): Tunnel[] {
  const listens = new Set(heard);
  return byName(peers, ({ host }) => host).map(({ host, tunnelAddress }) => {
    return { peer: host, address: tunnelAddress, ...(listens.has(host) && { heartbeatMs: everyMs }) };
  });
}

function zonesOf({ services }: DataplaneView, { numbers }: RouterGround): ReadonlyMap<string, number> {
  const translated = byName(services, ({ id }) => id).filter(({ type }) => type === 'nat');
  return new Map(translated.map(({ id }) => [id, numbers.zone(id)]));
}

function groundOf({ host, peers, networks, ports, heartbeats }: DataplaneView, around: Surroundings): RouterGround {
  const behind = new Map<string, Behind[]>(networks.domains.map(({ id }) => [id, []]));
  const add = (domain: string, { mac, addresses }: Pick<ShownSwitchPort, 'mac' | 'addresses'>): void => {
    for (const ip of addresses) behind.get(domain)?.push({ ip, mac });
  };
  for (const port of ports) add(domainOf(port), port);
  for (const { id, ports: far } of networks.domains) for (const port of far) add(id, port);
  return {
    host,
    numbers: new Numbers(),
    peers: new Map(byName(peers, (peer) => peer.host).map((peer) => [peer.host, peer.tunnelAddress])),
    domains: new Map(networks.domains.map(({ id, key }) => [id, key])),
    routers: new Map(networks.routers.map(({ id, key }) => [id, key])),
    nextHop: around.nextHop,
    listensFor: (peer) => heartbeats.peers.includes(peer) && (around.hasHeard?.(peer) ?? true),
    behind,
  };
}

function piecesOf(view: DataplaneView, ground: RouterGround): Piece[] {
  const { networks, services } = view;
  const ports = byName(view.ports, ({ id }) => id);
  return [
    hostPiece(view.host),
    ...byName(view.peers, ({ host }) => host).map(peerPiece),
    ...ports.map((port) => localPiece(port, ground)),
    ...byName(networks.domains, ({ id }) => id).flatMap((domain) => [
      domainPiece(domain, portsIn(ports, domain.id), ground),
      { owner: { kind: 'domain', id: domain.id } as const, flows: dhcpArrivals(domain, services) },
      ...byName(domain.ports, ({ id }) => id).map((port) => farPortPiece(port, domain.key, ground)),
    ]),
    ...byName(networks.routers, ({ id }) => id).flatMap((router) => [
      routerPiece(router, ground),
      { owner: { kind: 'router', id: router.id } as const, flows: routerArrivals(router, services) },
    ]),
    ...byName(services, ({ id }) => id).map((service) => servicePiece(service, ground, ports)),
  ];
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

interface Made {
  readonly flows: readonly Flow[];
  readonly owners: ReadonlyMap<Cookie, Owner>;
  readonly reasons: ReadonlyMap<string, Why>;
  readonly doubles: readonly Gap[];
}

function flowsOf(pieces: readonly Piece[], numbers: Numbers): Made {
  const flows = new Map<string, Flow>();
  const owners = new Map<Cookie, Owner>();
  const reasons = new Map<string, Why>();
  const doubles: Gap[] = [];
  for (const { owner, flows: drafts } of pieces) {
    const cookie = numbers.cookie(owner);
    for (const { table, priority, match, actions, why } of drafts) {
      const flow = { table, priority, match, actions, cookie };
      const key = flowKey(flow);
      if (flows.has(key)) doubles.push({ owner, because: 'same-match', what: key });
      else {
        flows.set(key, flow);
        reasons.set(key, why);
        owners.set(cookie, owner);
      }
    }
  }
  return { flows: [...flows.values()].sort(inOrder), owners, reasons, doubles };
}

/** Two flows with the same key are the same one. */
export function flowKey({ table, priority, match }: Pick<Flow, 'table' | 'priority' | 'match'>): string {
  return `table=${table},priority=${priority}${match === '' ? '' : ','}${match}`;
}

function inOrder(one: Flow, other: Flow): number {
  return one.table - other.table || other.priority - one.priority || (one.match < other.match ? -1 : 1);
}

function byName<T>(things: readonly T[], nameOf: (thing: T) => string): T[] {
  return [...things].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : nameOf(one) > nameOf(other) ? 1 : 0));
}
