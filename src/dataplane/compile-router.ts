// A router, which is on every host that has to do with it: it answers for its gateways, routes between its subnets where a packet
// starts, and hands everything else to its way out.
import { eachInSteps, type Steps } from '../fleet/index.ts';
import { within } from './in-subnet.ts';
import { linkLocalOf, macOf } from './keys.ts';
import type { Draft, Ground, Piece } from './piece.ts';
import type { ShownRouter, ShownSubnet } from './shown.ts';
import { TABLE } from './tables.ts';
import { actions, arpAnswer, echoAnswer, goTo, hex, isV6, match, set, to, TO_AGENT } from './words.ts';

/** An address behind the router, here or elsewhere. */
export interface Behind {
  readonly ip: string;
  readonly mac: string;
}

export interface RouterGround extends Ground {
  /** Every address that is known in a domain, by domain. */
  readonly behind: ReadonlyMap<string, readonly Behind[]>;
}

export function* routerPiece(router: ShownRouter, ground: RouterGround): Steps<Piece> {
  const mac = macOf('gateway', router.id);
  const subnets = router.subnets.filter(({ domain }) => ground.domains.has(domain));
  const routes = yield* routeFlows(router, subnets, { ground, mac });
  return {
    owner: { kind: 'router', id: router.id },
    flows: [
      ...domainsOf(subnets).flatMap((domain) => gatewayFlows(router, { key: ground.domains.get(domain) ?? 0, mac })),
      ...subnets.flatMap((subnet) => subnetFlows(router, subnet, { ground, mac })),
      ...routes,
      ...wayOutFlows(router),
    ],
    gaps: router.subnets
      .filter(({ domain }) => !ground.domains.has(domain))
      .map(({ domain }) => ({ owner: { kind: 'router', id: router.id }, because: 'no-key', what: domain })),
  };
}

function domainsOf(subnets: readonly ShownSubnet[]): string[] {
  return [...new Set(subnets.map(({ domain }) => domain))];
}

interface Gateway {
  /** Of the domain. */
  readonly key: number;
  readonly mac: string;
}

/** What an instance sends to its gateway is routed. That it is the gateway for IPv6 is what the agent tells those who ask. */
function gatewayFlows({ key: router, subnets }: ShownRouter, { key, mac }: Gateway): Draft[] {
  const metadata = hex(key);
  const routed = (is: 'ip' | 'ipv6'): Draft => ({
    table: TABLE.ingress,
    priority: 40,
    match: match({ is, metadata, dl_dst: mac }),
    actions: actions(set('reg0', hex(router)), goTo(TABLE.route)),
    why: 'gateway',
  });
  if (!subnets.some(({ cidr }) => isV6(cidr))) return [routed('ip')];
  const asked = match({ is: 'icmp6', metadata, icmpv6_type: 133 });
  return [
    routed('ip'),
    routed('ipv6'),
    { table: TABLE.ingress, priority: 60, match: asked, actions: actions(TO_AGENT), why: 'gateway-advertises' },
    ...neighbourFlows({ target: linkLocalOf(mac), mac, metadata, table: TABLE.ingress }),
  ];
}

interface Answered {
  readonly target: string;
  readonly mac: string;
  readonly metadata?: string;
  readonly inPort?: string;
  readonly table: number;
}

/**
 * The answer to a neighbour solicitation takes two tables: the switch takes the option of the answer only in a packet that is one.
 * Who asks whether an address is free has no address itself, and is not answered.
 */
export function neighbourFlows(
  { target, mac, metadata, inPort, table }: Answered,
  why: Draft['why'] = 'gateway-answers',
): Draft[] {
  const where = { ...(metadata !== undefined && { metadata }), ...(inPort !== undefined && { in_port: inPort }) };
  const asked = match({ is: 'icmp6', ...where, icmpv6_type: 135, nd_target: target });
  const duplicate = match({ is: 'icmp6', ...where, ipv6_src: '::', icmpv6_type: 135, nd_target: target });
  return [
    { table, priority: 81, match: duplicate, actions: actions(), why },
    {
      table,
      priority: 80,
      match: asked,
      actions: actions(
        'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
        set('eth_src', mac),
        'move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]',
        set('ipv6_src', target),
        set('icmpv6_type', 136),
        goTo(TABLE.neighbour),
      ),
      why,
    },
    {
      table: TABLE.neighbour,
      priority: 50,
      match: match({ is: 'icmp6', ...where, icmpv6_type: 136, nd_target: target }),
      actions: actions(set('nd_options_type', 2), set('nd_tll', mac), set('nd_reserved', 0xe0000000), 'IN_PORT'),
      why,
    },
  ];
}

interface Of {
  readonly ground: RouterGround;
  readonly mac: string;
}

/** The gateway of one subnet answers for itself. What is in the subnet and nobody's goes nowhere. */
function subnetFlows({ key }: ShownRouter, { cidr, gateway, domain }: ShownSubnet, { ground, mac }: Of): Draft[] {
  const metadata = hex(ground.domains.get(domain) ?? 0);
  const reg0 = hex(key);
  const nobody: Draft = {
    table: TABLE.route,
    priority: 50,
    match: match({ ...to(cidr), reg0 }),
    actions: actions(),
    why: 'route-nobody',
  };
  if (gateway === undefined) return [nobody];
  const echo = isV6(gateway)
    ? ({ is: 'icmp6', reg0, ipv6_dst: gateway, icmpv6_type: 128 } as const)
    : ({ is: 'icmp', reg0, nw_dst: gateway, icmp_type: 8 } as const);
  const answered: Draft[] = isV6(gateway)
    ? neighbourFlows({ target: gateway, mac, metadata, table: TABLE.ingress })
    : [
        {
          table: TABLE.ingress,
          priority: 80,
          match: match({ is: 'arp', metadata, arp_tpa: gateway, arp_op: 1 }),
          actions: actions(...arpAnswer(gateway, mac)),
          why: 'gateway-answers',
        },
      ];
  return [
    ...answered,
    {
      table: TABLE.route,
      priority: 110,
      match: match(echo),
      actions: actions(...echoAnswer(gateway, mac)),
      why: 'gateway-echo',
    },
    nobody,
  ];
}

function* routeFlows({ key }: ShownRouter, subnets: readonly ShownSubnet[], { ground, mac }: Of): Steps<Draft[]> {
  const reg0 = hex(key);
  const flows: Draft[] = [];
  for (const domain of domainsOf(subnets)) {
    const metadata = hex(ground.domains.get(domain) ?? 0);
    const ours = subnets.filter((subnet) => subnet.domain === domain).map(({ cidr }) => within(cidr));
    yield* eachInSteps(ground.behind.get(domain) ?? [], ({ ip, mac: its }) => {
      if (!ours.some((isInside) => isInside(ip))) return;
      const there = [set('eth_src', mac), set('eth_dst', its), set('metadata', metadata)];
      flows.push({
        table: TABLE.route,
        priority: 100,
        match: match({ ...to(ip), reg0 }),
        actions: actions('dec_ttl', ...there, goTo(TABLE.deliver)),
        why: 'route',
      });
    });
  }
  return flows;
}

function wayOutFlows({ key }: ShownRouter): Draft[] {
  return (['ip', 'ipv6'] as const).map((is): Draft => ({
    table: TABLE.route,
    priority: 10,
    match: match({ is, reg0: hex(key) }),
    actions: actions('dec_ttl', goTo(TABLE.outbound)),
    why: 'way-out',
  }));
}
