// A router, compiled on every host that has a port behind it: it answers for its gateways, routes between its subnets on the host where a
// packet starts, and sends everything else to its way out. It must never deliver between routers directly.
import { linkLocalOf, isIpv6 } from '../packets/address.ts';
import { eachInSteps, type Steps } from '../../fleet/index.ts';
import { subnetMatcher } from '../view/subnet-matcher.ts';
import { macOf } from '../switch/derived-ids.ts';
import type { FlowDraft, CompileContext, FlowFragment } from './flow-fragment.ts';
import type { RouterView, SubnetView } from '../view/dataplane-view.ts';
import { TABLE } from '../switch/tables.ts';
import {
  formatActions,
  arpReplyActions,
  echoReplyActions,
  resubmit,
  hex,
  formatMatch,
  setField,
  matchDestination,
  TO_AGENT,
} from '../switch/flow-syntax.ts';

/** An address behind the router, on this host or another. */
export interface RoutedAddress {
  readonly ip: string;
  readonly mac: string;
}

export interface RouterCompileContext extends CompileContext {
  /** Every known address of each domain. */
  readonly addressesByDomain: ReadonlyMap<string, readonly RoutedAddress[]>;
}

export function* compileRouter(router: RouterView, context: RouterCompileContext): Steps<FlowFragment> {
  const mac = macOf('gateway', router.id);
  const subnets = router.subnets.filter(({ domain }) => context.domains.has(domain));
  const routes = yield* routeFlows(router, subnets, { context, mac });
  return {
    owner: { kind: 'router', id: router.id },
    flows: [
      ...domainsOf(subnets).flatMap((domain) => gatewayFlows(router, { key: context.domains.get(domain) ?? 0, mac })),
      ...subnets.flatMap((subnet) => subnetFlows(router, subnet, { context, mac })),
      ...routes,
      ...defaultRouteFlows(router),
    ],
    gaps: router.subnets
      .filter(({ domain }) => !context.domains.has(domain))
      .map(({ domain }) => ({ owner: { kind: 'router', id: router.id }, reason: 'no-tunnel-key', what: domain })),
  };
}

function domainsOf(subnets: readonly SubnetView[]): string[] {
  return [...new Set(subnets.map(({ domain }) => domain))];
}

interface DomainGateway {
  /** The key of the domain. */
  readonly key: number;
  readonly mac: string;
}

/** What an instance sends to its gateway is routed. Router solicitations for IPv6 are answered by the agent. */
function gatewayFlows({ key: router, subnets }: RouterView, { key, mac }: DomainGateway): FlowDraft[] {
  const metadata = hex(key);
  const routeFlow = (is: 'ip' | 'ipv6'): FlowDraft => ({
    table: TABLE.ingress,
    priority: 40,
    match: formatMatch({ is, metadata, dl_dst: mac }),
    actions: formatActions(setField('reg0', hex(router)), resubmit(TABLE.route)),
    reason: 'to-gateway',
  });
  if (!subnets.some(({ cidr }) => isIpv6(cidr))) return [routeFlow('ip')];
  const match = formatMatch({ is: 'icmp6', metadata, icmpv6_type: 133 });
  return [
    routeFlow('ip'),
    routeFlow('ipv6'),
    {
      table: TABLE.ingress,
      priority: 60,
      match,
      actions: formatActions(TO_AGENT),
      reason: 'gateway-router-advertisement',
    },
    ...ndResponderFlows({ target: linkLocalOf(mac), mac, metadata, table: TABLE.ingress }),
  ];
}

interface NeighbourTarget {
  readonly target: string;
  readonly mac: string;
  readonly metadata?: string;
  readonly inPort?: string;
  readonly table: number;
}

/**
 * The answer to a neighbour solicitation takes two tables: the switch accepts the option of an advertisement only in a packet that already
 * is one. A host that probes whether an address is free has no address itself and is not answered.
 */
export function ndResponderFlows(
  { target, mac, metadata, inPort, table }: NeighbourTarget,
  reason: FlowDraft['reason'] = 'gateway-responder',
): FlowDraft[] {
  const where = { ...(metadata !== undefined && { metadata }), ...(inPort !== undefined && { in_port: inPort }) };
  const match = formatMatch({ is: 'icmp6', ...where, icmpv6_type: 135, nd_target: target });
  const duplicate = formatMatch({ is: 'icmp6', ...where, ipv6_src: '::', icmpv6_type: 135, nd_target: target });
  return [
    { table, priority: 81, match: duplicate, actions: formatActions(), reason },
    {
      table,
      priority: 80,
      match,
      actions: formatActions(
        'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
        setField('eth_src', mac),
        'move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]',
        setField('ipv6_src', target),
        setField('icmpv6_type', 136),
        resubmit(TABLE.neighbour),
      ),
      reason,
    },
    {
      table: TABLE.neighbour,
      priority: 50,
      match: formatMatch({ is: 'icmp6', ...where, icmpv6_type: 136, nd_target: target }),
      actions: formatActions(
        setField('nd_options_type', 2),
        setField('nd_tll', mac),
        setField('nd_reserved', 0xe0000000),
        'IN_PORT',
      ),
      reason,
    },
  ];
}

interface RouterFlowContext {
  readonly context: RouterCompileContext;
  readonly mac: string;
}

/** The gateway of one subnet answers for itself. Packets to unused addresses of the subnet are dropped. */
function subnetFlows(
  { key }: RouterView,
  { cidr, gateway, domain }: SubnetView,
  { context, mac }: RouterFlowContext,
): FlowDraft[] {
  const metadata = hex(context.domains.get(domain) ?? 0);
  const reg0 = hex(key);
  const unknownNeighbour: FlowDraft = {
    table: TABLE.route,
    priority: 50,
    match: formatMatch({ ...matchDestination(cidr), reg0 }),
    actions: formatActions(),
    reason: 'route-unassigned-address',
  };
  if (gateway === undefined) return [unknownNeighbour];
  const echo = isIpv6(gateway)
    ? ({ is: 'icmp6', reg0, ipv6_dst: gateway, icmpv6_type: 128 } as const)
    : ({ is: 'icmp', reg0, nw_dst: gateway, icmp_type: 8 } as const);
  const answered: FlowDraft[] = isIpv6(gateway)
    ? ndResponderFlows({ target: gateway, mac, metadata, table: TABLE.ingress })
    : [
        {
          table: TABLE.ingress,
          priority: 80,
          match: formatMatch({ is: 'arp', metadata, arp_tpa: gateway, arp_op: 1 }),
          actions: formatActions(...arpReplyActions(gateway, mac)),
          reason: 'gateway-responder',
        },
      ];
  return [
    ...answered,
    {
      table: TABLE.route,
      priority: 110,
      match: formatMatch(echo),
      actions: formatActions(...echoReplyActions(gateway, mac)),
      reason: 'gateway-echo',
    },
    unknownNeighbour,
  ];
}

function* routeFlows(
  { key }: RouterView,
  subnets: readonly SubnetView[],
  { context, mac }: RouterFlowContext,
): Steps<FlowDraft[]> {
  const reg0 = hex(key);
  const flows: FlowDraft[] = [];
  for (const domain of domainsOf(subnets)) {
    const metadata = hex(context.domains.get(domain) ?? 0);
    const ours = subnets.filter((subnet) => subnet.domain === domain).map(({ cidr }) => subnetMatcher(cidr));
    yield* eachInSteps(context.addressesByDomain.get(domain) ?? [], ({ ip, mac: its }) => {
      if (!ours.some((isInside) => isInside(ip))) return;
      const there = [setField('eth_src', mac), setField('eth_dst', its), setField('metadata', metadata)];
      flows.push({
        table: TABLE.route,
        priority: 100,
        match: formatMatch({ ...matchDestination(ip), reg0 }),
        actions: formatActions('dec_ttl', ...there, resubmit(TABLE.deliver)),
        reason: 'route',
      });
    });
  }
  return flows;
}

function defaultRouteFlows({ key }: RouterView): FlowDraft[] {
  return (['ip', 'ipv6'] as const).map((is): FlowDraft => ({
    table: TABLE.route,
    priority: 10,
    match: formatMatch({ is, reg0: hex(key) }),
    actions: formatActions('dec_ttl', resubmit(TABLE.outbound)),
    reason: 'default-route',
  }));
}
