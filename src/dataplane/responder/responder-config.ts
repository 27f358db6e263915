// What the agent of a host does by packets of its own: which DHCP requests and router solicitations it answers, which external next hops it
// resolves, and which external addresses it announces. Derived from the view alone.
import { isIpv6 } from '../packets/address.ts';
import { newConnectionPolicyOf } from '../compile/nat-handover.ts';
import { isAddressResponder } from '../compile/nat.ts';
import { advertisedNextHopOf } from '../compile/subnet-services.ts';
import { subnetMatcher } from '../view/subnet-matcher.ts';
import { macOf } from '../switch/derived-ids.ts';
import {
  domainOf,
  type DataplaneView,
  type DomainView,
  type ServiceView,
  type SubnetView,
} from '../view/dataplane-view.ts';
import type { AnnouncedAddress } from './announcement.ts';
import type { DhcpSubnet } from './dhcp-subnet.ts';
import type { NdNetwork } from './neighbour-discovery.ts';

export interface ResponderConfig {
  /** The external hardware address of this host, for its own queries. */
  readonly mac: string;
  readonly nextHops: readonly string[];
  readonly announcedAddresses: readonly AnnouncedAddress[];
  /** By the key of the domain. */
  readonly dhcpSubnets: ReadonlyMap<number, readonly DhcpSubnet[]>;
  readonly ndNetworks: ReadonlyMap<number, NdNetwork>;
}

/** Leaves room for the largest tunnel header in a frame of 1500 bytes. */
const MTU_BYTES = 1400;
const LEASE_S = 3600;
/** Three times the longest advertisement interval that RFC 4861 allows. */
const ROUTER_LIFETIME_S = 1800;
/** A client that renews by unicast where there is no gateway gets its answer when it rebinds by broadcast. */
const SERVER_WITHOUT_GATEWAY = '169.254.169.254';

export function responderConfigOf(view: DataplaneView): ResponderConfig {
  const { host, services, networks } = view;
  return {
    mac: macOf('host', host),
    nextHops: [...new Set(services.flatMap(hopsOf))].sort(),
    announcedAddresses: services.flatMap(announcedAddressesOf),
    dhcpSubnets: dhcpSubnetsOf(view),
    ndNetworks: new Map(networks.domains.flatMap((domain) => ndNetworkOf(view, domain))),
  };
}

function hopsOf({ type, role, via, floating = [] }: ServiceView): string[] {
  const own = type === 'dhcp' || role === 'other' || via === undefined ? [] : [via];
  return [...own, ...floating.flatMap((one) => one.via ?? via ?? [])];
}

/** Only addresses that are certainly here: the old host of a handover keeps answering, and announces nothing. */
function announcedAddressesOf(service: ServiceView): AnnouncedAddress[] {
  const { id, type, role, nat, subnets, floating = [] } = service;
  const mine = role === 'designated' && isAddressResponder(service);
  const [subnet] = subnets;
  return [
    ...(mine && nat !== undefined
      ? [
          {
            ip: nat.ip,
            mac: macOf('service', id),
            ...(newConnectionPolicyOf(service) === 'forward-to-old' && { shared: true }),
          },
        ]
      : []),
    ...(mine && type === 'subnet-route' && subnet !== undefined && isIpv6(subnet.cidr)
      ? [{ ...advertisedNextHopOf(id), router: true }]
      : []),
    ...floating.map(({ outside }) => ({ ip: outside, mac: macOf('floating', outside) })),
  ];
}

function dhcpSubnetsOf(view: DataplaneView): Map<number, DhcpSubnet[]> {
  const leases = new Map<number, DhcpSubnet[]>();
  for (const { id, type, role, subnets } of view.services) {
    const [subnet] = subnets;
    const domain = view.networks.domains.find((one) => one.id === subnet?.domain);
    if (type !== 'dhcp' || role === 'other' || subnet === undefined || domain === undefined) continue;
    leases.set(domain.key, [...(leases.get(domain.key) ?? []), dhcpSubnetOf(view, { id, subnet, domain })]);
  }
  return leases;
}

interface Leased {
  readonly id: string;
  readonly subnet: SubnetView;
  readonly domain: DomainView;
}

function dhcpSubnetOf({ ports, networks }: DataplaneView, { id, subnet, domain }: Leased): DhcpSubnet {
  const router = networks.routers.find(({ subnets }) => subnets.some((one) => one.id === subnet.id));
  const isInside = subnetMatcher(subnet.cidr);
  const all = [...ports.filter((port) => domainOf(port) === domain.id), ...domain.ports];
  const leased = all.flatMap(({ mac, addresses }) => {
    const ip = addresses.find(isInside);
    return ip === undefined ? [] : [[mac, { ip }] as const];
  });
  return {
    cidr: subnet.cidr,
    // A gateway without an address gives no way out.
    ...(router !== undefined && subnet.gateway !== undefined && { gateway: subnet.gateway }),
    mtu: MTU_BYTES,
    leaseS: LEASE_S,
    serverId: subnet.gateway ?? SERVER_WITHOUT_GATEWAY,
    serverMac: router === undefined ? macOf('service', id) : macOf('gateway', router.id),
    reservations: new Map(leased),
  };
}

function ndNetworkOf({ networks }: DataplaneView, { id, key }: DomainView): [number, NdNetwork][] {
  for (const router of networks.routers) {
    const routed = router.subnets.filter(({ domain, cidr }) => domain === id && isIpv6(cidr));
    if (routed.length === 0) continue;
    const gateway = { mac: macOf('gateway', router.id), addresses: routed.flatMap((subnet) => subnet.gateway ?? []) };
    const prefixes = routed.map(({ cidr }) => ({ cidr, addressing: 'managed' as const }));
    const known = { gateway, prefixes, mtu: MTU_BYTES, routerLifetimeS: ROUTER_LIFETIME_S, ports: new Map() };
    return [[key, known]];
  }
  return [];
}
