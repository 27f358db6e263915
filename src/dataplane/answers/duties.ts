// What the agent of a host does by packets of its own: whom it answers DHCP and router solicitations, which next hops outside it must
// know, and which addresses outside it tells everybody are here. Derived from the view alone.
import { givingOf } from '../compile-nat-ends.ts';
import { isAnswering } from '../compile-nat.ts';
import { nextHopOf } from '../compile-subnet-services.ts';
import { within } from '../in-subnet.ts';
import { macOf } from '../keys.ts';
import { domainOf, type DataplaneView, type ShownDomain, type ShownService, type ShownSubnet } from '../shown.ts';
import { isV6 } from '../words.ts';
import type { Announced } from './announce.ts';
import type { LeasedSubnet } from './leased-subnet.ts';
import type { NeighbourNetwork } from './neighbour.ts';

export interface Duties {
  /** Hardware address of this host outside, for questions of its own. */
  readonly mac: string;
  readonly nextHops: readonly string[];
  readonly announced: readonly Announced[];
  /** By the key of the domain. */
  readonly leases: ReadonlyMap<number, readonly LeasedSubnet[]>;
  readonly gateways: ReadonlyMap<number, NeighbourNetwork>;
}

/** Leaves room for the largest header of a tunnel in a frame of 1500 bytes. */
const MTU_BYTES = 1400;
const LEASE_S = 3600;
/** The longest that RFC 4861 lets advertisements be apart, three times. */
const ROUTER_LIFETIME_S = 1800;
/** Who renews by unicast where there is no gateway is answered when he asks everybody. */
const SERVER_WITHOUT_GATEWAY = '169.254.169.254';

export function dutiesOf(view: DataplaneView): Duties {
  const { host, services, networks } = view;
  return {
    mac: macOf('host', host),
    nextHops: [...new Set(services.flatMap(hopsOf))].sort(),
    announced: services.flatMap(announcedBy),
    leases: leasesOf(view),
    gateways: new Map(networks.domains.flatMap((domain) => gatewayOf(view, domain))),
  };
}

function hopsOf({ type, role, via, floating = [] }: ShownService): string[] {
  const own = type === 'dhcp' || role === 'other' || via === undefined ? [] : [via];
  return [...own, ...floating.flatMap((one) => one.via ?? via ?? [])];
}

/** Only what is here for certain: the old host of a hand-over answers on, and says nothing unasked. */
function announcedBy(service: ShownService): Announced[] {
  const { id, type, role, nat, subnets, floating = [] } = service;
  const mine = role === 'designated' && isAnswering(service);
  const [subnet] = subnets;
  return [
    ...(mine && nat !== undefined
      ? [{ ip: nat.ip, mac: macOf('service', id), ...(givingOf(service) === 'asks' && { shared: true }) }]
      : []),
    ...(mine && type === 'subnet-route' && subnet !== undefined && isV6(subnet.cidr)
      ? [{ ...nextHopOf(id), router: true }]
      : []),
    ...floating.map(({ outside }) => ({ ip: outside, mac: macOf('floating', outside) })),
  ];
}

function leasesOf(view: DataplaneView): Map<number, LeasedSubnet[]> {
  const leases = new Map<number, LeasedSubnet[]>();
  for (const { id, type, role, subnets } of view.services) {
    const [subnet] = subnets;
    const domain = view.networks.domains.find((one) => one.id === subnet?.domain);
    if (type !== 'dhcp' || role === 'other' || subnet === undefined || domain === undefined) continue;
    leases.set(domain.key, [...(leases.get(domain.key) ?? []), leaseOf(view, { id, subnet, domain })]);
  }
  return leases;
}

interface Leased {
  readonly id: string;
  readonly subnet: ShownSubnet;
  readonly domain: ShownDomain;
}

function leaseOf({ ports, networks }: DataplaneView, { id, subnet, domain }: Leased): LeasedSubnet {
  const router = networks.routers.find(({ subnets }) => subnets.some((one) => one.id === subnet.id));
  const isInside = within(subnet.cidr);
  const all = [...ports.filter((port) => domainOf(port) === domain.id), ...domain.ports];
  const leased = all.flatMap(({ mac, addresses }) => {
    const ip = addresses.find(isInside);
    return ip === undefined ? [] : [[mac, { ip }] as const];
  });
  return {
    cidr: subnet.cidr,
    // A gateway that nobody is gives no way out.
    ...(router !== undefined && subnet.gateway !== undefined && { gateway: subnet.gateway }),
    mtu: MTU_BYTES,
    leaseS: LEASE_S,
    serverId: subnet.gateway ?? SERVER_WITHOUT_GATEWAY,
    serverMac: router === undefined ? macOf('service', id) : macOf('gateway', router.id),
    ports: new Map(leased),
  };
}

function gatewayOf({ networks }: DataplaneView, { id, key }: ShownDomain): [number, NeighbourNetwork][] {
  for (const router of networks.routers) {
    const routed = router.subnets.filter(({ domain, cidr }) => domain === id && isV6(cidr));
    if (routed.length === 0) continue;
    const gateway = { mac: macOf('gateway', router.id), addresses: routed.flatMap((subnet) => subnet.gateway ?? []) };
    const prefixes = routed.map(({ cidr }) => ({ cidr, addressing: 'managed' as const }));
    const known = { gateway, prefixes, mtu: MTU_BYTES, routerLifetimeS: ROUTER_LIFETIME_S, ports: new Map() };
    return [[key, known]];
  }
  return [];
}
